package ptyrun_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/sessions/ptyrun"
)

func TestOutputIsAsPrinted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"one\ntwo\n", "no newline", "tab\tbell\a\x00nul\x7f\x03\x04\x1a\n", "\r\n\r\r\n", "\x1b[?25h", "ümläut 🚀\n", ""} {
		file := filepath.Join(t.TempDir(), "text")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, shell(t, "cat "+file).all()); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
	}
}

func TestMuchOutputIsWholeAndInOrder(t *testing.T) {
	t.Parallel()
	const lines = 170_000
	want, got := sha256.New(), sha256.New()
	if err := numbered(want, lines); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var n counter
	p := start(t, ptyrun.Command{Path: self, Env: append(os.Environ(), childVar+"=print "+strconv.Itoa(lines))}, io.MultiWriter(got, &n))
	<-p.Done()
	if e := p.Exit(); e != (ptyrun.Exit{}) || !p.Drain(patience) {
		t.Fatalf("ended with %+v, or not everything was read", e)
	}
	if n < 20<<20 || !bytes.Equal(want.Sum(nil), got.Sum(nil)) {
		t.Errorf("%d bytes came, and they differ from what was printed", n)
	}
}

type counter int

func (c *counter) Write(p []byte) (int, error) { *c += counter(len(p)); return len(p), nil }

// TestOneLongLine is a line longer than any buffer on the way.
func TestOneLongLine(t *testing.T) {
	t.Parallel()
	got := shell(t, "head -c 5000000 /dev/zero | tr '\\0' x").all()
	if len(got) != 5_000_000 || strings.Trim(got, "x") != "" {
		t.Errorf("%d bytes came, want 5000000 times x", len(got))
	}
}

func TestStdin(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 4096, 1 << 20} {
		prompt := strings.Repeat("a prompt\n", n/9+1)[:n]
		want := fmt.Sprintf("%d %x\n", n, sha256.Sum256([]byte(prompt)))
		if got := part(t, "sum", prompt).all(); got != want {
			t.Errorf("stdin of %d bytes: got %q, want %q", n, got, want)
		}
	}
}

// TestStdinThatNobodyReads holds more than a pipe does.
func TestStdinThatNobodyReads(t *testing.T) {
	t.Parallel()
	prompt := strings.Repeat("x", 1<<20)
	s := &screen{}
	p := process{start(t, ptyrun.Command{Path: "/bin/sh", Args: []string{"-c", "echo started; exit 3"}, Stdin: prompt}, s), t, s}
	if e := p.exits(); e.Code != 3 || e.Err != nil {
		t.Errorf("ended with %+v, want status 3", e)
	}
	s = &screen{}
	p = process{start(t, ptyrun.Command{Path: "/bin/sh", Args: []string{"-c", "echo started; sleep 300"}, Stdin: prompt}, s), t, s}
	p.says("started")
	p.Stop(ended(), ptyrun.Ladder{})
	if e := p.exits(); e.Signal != "SIGKILL" {
		t.Errorf("ended with %+v, want SIGKILL", e)
	}
}

// TestStdinThatADescendantKeeps must not be waited for.
func TestStdinThatADescendantKeeps(t *testing.T) {
	t.Parallel()
	s := &screen{}
	p := process{start(t, ptyrun.Command{
		Path: "/bin/sh", Args: []string{"-c", "exec 3<&0; sleep 300 <&3 >/dev/null & exit 3"}, Env: os.Environ(), Stdin: strings.Repeat("x", 1<<20),
	}, s), t, s}
	if e := p.exits(); e.Code != 3 || e.Err != nil {
		t.Errorf("ended with %+v, want status 3", e)
	}
}

func TestStderrIsApart(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	s := &screen{}
	p := process{start(t, ptyrun.Command{Path: "/bin/sh", Args: []string{"-c", "echo out; echo err >&2"}, Stderr: file}, s), t, s}
	out := p.all()
	data, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"out\n", "err\n"}, []string{out, string(data)}); diff != "" {
		t.Errorf("stdout and stderr (-want +got):\n%s", diff)
	}
}

func TestEnvironmentAndFolder(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{}
	p := process{start(t, ptyrun.Command{
		Path: "/bin/sh", Args: []string{"-c", `pwd; echo "$ONLY" "$HOME" "$1" "$2"`, "sh", "a b", `c"d`}, Dir: dir, Env: []string{"ONLY=this"},
	}, s), t, s}
	if diff := cmp.Diff(dir+"\nthis  a b c\"d\n", p.all()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestExit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		script string
		want   ptyrun.Exit
	}{
		{"exit 0", ptyrun.Exit{}},
		{"exit 1", ptyrun.Exit{Code: 1}},
		{"exit 143", ptyrun.Exit{Code: 143}},
		{"kill -TERM $$", ptyrun.Exit{Code: -1, Signal: "SIGTERM"}},
		{"kill -KILL $$", ptyrun.Exit{Code: -1, Signal: "SIGKILL"}},
		{"kill -HUP $$", ptyrun.Exit{Code: -1, Signal: "SIGHUP"}},
	}
	for _, tt := range tests {
		if got := shell(t, tt.script).exits(); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.script, got, tt.want)
		}
	}
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func TestStop(t *testing.T) {
	t.Parallel()
	long := ptyrun.Ladder{Interrupt: patience, Terminate: patience}
	short := ptyrun.Ladder{Interrupt: 50 * time.Millisecond, Terminate: 50 * time.Millisecond}
	tests := []struct {
		name    string
		ignores string
		ctx     context.Context
		ladder  ptyrun.Ladder
		want    syscall.Signal
		exit    ptyrun.Exit
		prints  string
	}{
		{"ends on an interrupt", "", t.Context(), long, syscall.SIGINT, ptyrun.Exit{Code: 7}, "ready\ngot INT\n"},
		{"ends on termination", "INT", t.Context(), ptyrun.Ladder{Interrupt: short.Interrupt, Terminate: patience}, syscall.SIGTERM, ptyrun.Exit{Code: 7}, "ready\ngot INT\ngot TERM\n"},
		{"ends only when killed", "INT TERM", t.Context(), short, syscall.SIGKILL, ptyrun.Exit{Code: -1, Signal: "SIGKILL"}, "ready\n"}, // and what it had time for
		{"at once", "", ended(), long, syscall.SIGKILL, ptyrun.Exit{Code: -1, Signal: "SIGKILL"}, "ready\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := part(t, "endure "+tt.ignores, "")
			p.says("ready")
			if got := p.Stop(tt.ctx, tt.ladder); got != tt.want {
				t.Errorf("needed %v, want %v", got, tt.want)
			}
			if got := p.exits(); got != tt.exit {
				t.Errorf("ended with %+v, want %+v", got, tt.exit)
			}
			p.Drain(patience)
			if got := p.screen.String(); got != tt.prints && (tt.want != syscall.SIGKILL || !strings.HasPrefix(got, tt.prints)) {
				t.Errorf("output %q, want %q", got, tt.prints)
			}
		})
	}
}

// TestStopIsCutShort is a second signal to the supervisor while the first is
// being waited for.
func TestStopIsCutShort(t *testing.T) {
	t.Parallel()
	for _, ignores := range []string{"INT", "INT TERM"} {
		p := part(t, "endure "+ignores, "")
		p.says("ready")
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan syscall.Signal, 1)
		ladder := ptyrun.Ladder{Interrupt: time.Hour, Terminate: time.Hour}
		if ignores == "INT TERM" {
			ladder.Interrupt = time.Millisecond
		}
		go func() { got <- p.Stop(ctx, ladder) }()
		p.says("got " + strings.Fields(ignores)[len(strings.Fields(ignores))-1])
		cancel()
		select {
		case sig := <-got:
			if sig != syscall.SIGKILL {
				t.Errorf("needed %v, want SIGKILL", sig)
			}
		case <-time.After(patience):
			t.Fatal("it was not cut short")
		}
	}
}

func TestStopOfWhatHasEnded(t *testing.T) {
	t.Parallel()
	p := shell(t, "exit 5")
	p.exits()
	p.Stop(t.Context(), ptyrun.Ladder{Interrupt: time.Hour, Terminate: time.Hour})
	p.Signal(syscall.SIGKILL)
	if got := p.Exit(); got.Code != 5 {
		t.Errorf("ended with %+v, want status 5", got)
	}
}

// TestStopReachesTheGroup is a tool server beside the CLI.
func TestStopReachesTheGroup(t *testing.T) {
	t.Parallel()
	p := shell(t, `sh -c 'echo server $$; exec sleep 300' | cat; true`)
	p.says("server ")
	var server int
	poll(t, func() bool {
		_, err := fmt.Sscanf(p.screen.String(), "server %d\n", &server)
		return err == nil
	})
	p.Stop(t.Context(), ptyrun.Ladder{Interrupt: 50 * time.Millisecond, Terminate: patience})
	poll(t, func() bool { return gone(server) || zombie(server) })
}

// TestPtyThatADescendantHolds: the end of the process is its end.
func TestPtyThatADescendantHolds(t *testing.T) {
	t.Parallel()
	p := shell(t, "echo before; sleep 300 & exit 4")
	if got := p.exits(); got.Code != 4 {
		t.Errorf("ended with %+v, want status 4", got)
	}
	if p.Drain(100 * time.Millisecond) {
		t.Error("the end was reached although a descendant holds the pty")
	}
	if got := p.screen.String(); got != "before\n" {
		t.Errorf("got %q, want what was printed before", got)
	}
}

func TestSlowReader(t *testing.T) {
	t.Parallel()
	const lines = 10_000
	var want bytes.Buffer
	if err := numbered(&want, lines); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	slow := &slowReader{release: make(chan struct{})}
	p := start(t, ptyrun.Command{Path: self, Env: append(os.Environ(), childVar+"=print "+strconv.Itoa(lines))}, slow)
	select {
	case <-p.Done():
		t.Fatal("a child with a megabyte to print exited although nobody took it")
	case <-time.After(300 * time.Millisecond):
	}
	close(slow.release)
	<-p.Done()
	if !p.Drain(patience) || !bytes.Equal(want.Bytes(), slow.text.Bytes()) {
		t.Errorf("%d bytes came, want %d", slow.text.Len(), want.Len())
	}
}

type slowReader struct {
	release chan struct{}
	text    bytes.Buffer
}

func (s *slowReader) Write(p []byte) (int, error) {
	<-s.release
	return s.text.Write(p)
}

// TestWriterThatFails does not stop the child.
func TestWriterThatFails(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, ptyrun.Command{Path: self, Env: append(os.Environ(), childVar+"=print 10000")}, failing{})
	s := process{p, t, &screen{}}
	if got := s.exits(); got != (ptyrun.Exit{}) {
		t.Errorf("ended with %+v", got)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestStartErrors(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "not-executable")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []ptyrun.Command{
		{Path: "/nowhere/claude"},
		{Path: file},
		{Path: t.TempDir()},
		{Path: "/bin/sh", Dir: "/nowhere"},
		{Path: "/bin/sh", Args: []string{"-c", strings.Repeat("x", 1<<20)}},
	} {
		p, err := ptyrun.Start(c, io.Discard)
		if err == nil || !strings.HasPrefix(err.Error(), "start "+c.Path+": ") {
			t.Errorf("%.40s %s: got %v, %v; want an error that names it", c.Path, c.Dir, p, err)
		}
	}
}
