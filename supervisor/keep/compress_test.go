package keep

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestCompress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	long := strings.Repeat("the same again and again\n", 5000)
	noise := make([]byte, 50_000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	put(t, dir, map[string]string{"a/long": long, "noise": string(noise), "tiny": "x"})
	if err := os.Chtimes(filepath.Join(dir, "a/long"), ago(3), ago(3)); err != nil {
		t.Fatal(err)
	}
	saved, err := compress(dir, "a/long")
	if err != nil || saved < int64(len(long))*9/10 {
		t.Errorf("long: %d, %v", saved, err)
	}
	info, err := os.Lstat(filepath.Join(dir, "a/long.gz"))
	if err != nil || !info.ModTime().Equal(ago(3)) || info.Mode().Perm() != 0o600 {
		t.Errorf("long.gz: %+v, %v", info, err)
	}
	for _, name := range []string{"noise", "tiny", "missing"} {
		if saved, err := compress(dir, name); saved != 0 || err != nil {
			t.Errorf("%s: %d, %v", name, saved, err)
		}
	}
	if got := readAll(t, filepath.Join(dir, "a/long")); got != long {
		t.Errorf("%d bytes come back, want %d", len(got), len(long))
	}
	if got := readAll(t, filepath.Join(dir, "noise")); got != string(noise) {
		t.Error("noise was changed")
	}
	if got := len(files(t, dir)); got != 3 {
		t.Errorf("%d files are there, want 3", got)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, map[string]string{"plain": "text", "broken.gz": "no gzip", "both": "the original", "both.gz": "no gzip"})
	if err := os.Symlink(filepath.Join(dir, "plain"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, filepath.Join(dir, "both")); got != "the original" {
		t.Errorf("both: %q", got)
	}
	for _, name := range []string{"link", "pipe", "broken", ""} {
		if f, err := Open(filepath.Join(dir, name)); err == nil {
			t.Errorf("%q is opened: %v", name, f.Close())
		}
	}
	if _, err := Open(filepath.Join(dir, "nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}

// A file that is written to all the same is left as it is.
func TestCompressLeavesWhatChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "stderr.log")
	put(t, dir, map[string]string{"stderr.log": strings.Repeat("x\n", 1<<20)})
	var over atomic.Bool
	var written atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Error(err)
			return
		}
		for !over.Load() {
			if _, err := f.WriteString("more\n"); err != nil {
				t.Error(err)
			}
			written.Add(5)
		}
		_ = f.Close()
	})
	_, err := compress(dir, "stderr.log")
	over.Store(true)
	wg.Wait()
	if !errors.Is(err, errChanged) {
		t.Errorf("compress: %v", err)
	}
	info, err := os.Lstat(name)
	if err != nil || info.Size() != 2<<20+written.Load() || len(files(t, dir)) != 1 {
		t.Errorf("%v, %v, %d files", info, err, len(files(t, dir)))
	}
}

// A reader finds each file whole at any moment, whoever compresses and is killed.
func TestReadersNeverMissAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const count = 12
	text := func(i int) string {
		return strings.Repeat(fmt.Sprintf("line of file %d\n", i), 3000)
	}
	for i := range count {
		put(t, dir, map[string]string{fmt.Sprint("f", i): text(i)})
	}
	var over atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; !over.Load(); i = (i + 1) % count {
			r, err := Open(filepath.Join(dir, fmt.Sprint("f", i)))
			if err != nil {
				t.Errorf("f%d: %v", i, err)
				return
			}
			data, err := io.ReadAll(r)
			if err := errors.Join(err, r.Close()); err != nil || string(data) != text(i) {
				t.Errorf("f%d: %d bytes, %v", i, len(data), err)
				return
			}
		}
	})
	rng := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	for range 10 {
		p := startHelper(t, "pack", dir)
		if got := p.line(t); got != "begin" {
			t.Fatal(got)
		}
		<-time.After(time.Duration(rng.Int64N(int64(25 * time.Millisecond))))
		_ = p.cmd.Process.Signal(syscall.SIGKILL)
		_ = p.cmd.Wait()
	}
	p := startHelper(t, "pack", dir)
	for range 2 {
		p.line(t)
	}
	over.Store(true)
	wg.Wait()
	for name := range files(t, dir) {
		if !strings.HasSuffix(name, packed) {
			t.Errorf("%s is left", name)
		}
	}
}
