package journal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

const helperEnv = "JOURNAL_TEST_HELPER"

// TestMain lets the test binary play the other process.
func TestMain(m *testing.M) {
	if name := os.Getenv(helperEnv); name != "" {
		if err := runHelper(name, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// entry is the record of the tests. Filler makes it as long as wanted.
type entry struct {
	Who    string
	N      int
	Filler string
}

func record(who string, n, size int) []byte {
	b, err := json.Marshal(entry{Who: who, N: n})
	if err != nil {
		return nil
	}
	filler := strings.Repeat("x", max(0, size-len(b)))
	b, _ = json.Marshal(entry{Who: who, N: n, Filler: filler})
	return b
}

func runHelper(name string, args []string) error {
	path := args[0]
	switch name {
	case "append": // path foreign who size count: prints each number once acknowledged
		size, _ := strconv.Atoi(args[3])
		count, _ := strconv.Atoi(args[4])
		return appendMany(path, args[1] == "foreign", args[2], size, count)
	case "once": // path count: offers the records 0..count-1, all processes the same ones
		count, _ := strconv.Atoi(args[1])
		return appendOnce(path, count)
	case "plain": // path who count: appends without a lock, as other programs do
		count, _ := strconv.Atoi(args[2])
		return appendPlain(path, args[1], count)
	case "hold": // path: locks the file, prints "held", waits until stdin ends
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
			return err
		}
		fmt.Println("held")
		_, err = io.Copy(io.Discard, os.Stdin)
		return err
	}
	return runSystemHelper(name, args)
}

func appendMany(path string, foreign bool, who string, size, count int) error {
	w, err := Open(path, Options{Foreign: foreign})
	if err != nil {
		return err
	}
	for n := range count {
		if err := w.Append(record(who, n, size)); err != nil {
			return err
		}
		fmt.Println(n)
	}
	return w.Close()
}

func appendOnce(path string, count int) error {
	w, err := Open(path, Options{})
	if err != nil {
		return err
	}
	for n := range count {
		_, err := w.AppendUnless(record("all", n, 100), func(line []byte) bool {
			var e entry
			return json.Unmarshal(line, &e) == nil && e.N == n
		})
		if err != nil {
			return err
		}
	}
	return w.Close()
}

func appendPlain(path, who string, count int) error {
	for n := range count {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		if _, err := f.Write(append(record(who, n, n*37%9000), '\n')); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
}

func start(t *testing.T, name string, args ...string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), helperEnv+"="+name)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &process{cmd: cmd, stdin: stdin, out: bufio.NewReader(stdout)}
}

func (p *process) line(t *testing.T) string {
	t.Helper()
	s, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("read from helper: %v", err)
	}
	return strings.TrimSuffix(s, "\n")
}

// finish waits for a good end.
func (p *process) finish(t *testing.T) {
	t.Helper()
	if _, err := io.Copy(io.Discard, p.out); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

// kill ends the process the hard way and returns what it still had printed.
func (p *process) kill(t *testing.T) []string {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(p.out)
	if err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()
	lines := strings.Split(string(rest), "\n")
	return lines[:len(lines)-1]
}

func mustOpen(t testing.TB, path string, opt Options) *Writer {
	t.Helper()
	w, err := Open(path, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func mustAppend(t testing.TB, w *Writer, records ...string) {
	t.Helper()
	for _, r := range records {
		if err := w.Append([]byte(r)); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// lines returns all good lines of the journal and fails when there is a broken one.
func lines(t *testing.T, path string) []string {
	t.Helper()
	r, err := Check(path)
	if err != nil || !r.OK() {
		t.Errorf("Check = %+v, %v", r, err)
	}
	return allLines(t, path)
}

func allLines(t *testing.T, path string) []string {
	t.Helper()
	var list []string
	err := Each(path, func(_ int, line []byte) error {
		list = append(list, string(line))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// count returns how often each record stands in the journal, by who and number.
func count(t *testing.T, path string) map[string]int {
	t.Helper()
	got := make(map[string]int)
	for _, l := range lines(t, path) {
		var e entry
		if err := json.Unmarshal([]byte(l), &e); err != nil {
			t.Errorf("%.60s: %v", l, err)
		}
		got[key(e.Who, e.N)]++
	}
	return got
}

func key(who string, n int) string { return who + " " + strconv.Itoa(n) }

// torn returns the contents of the files that were set aside, oldest first.
func torn(t *testing.T, path string) []string {
	t.Helper()
	names, err := filepath.Glob(path + ".torn-*")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, name := range names {
		list = append(list, read(t, name))
	}
	return list
}
