package ptyrun_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"autopilot/sessions/ptyrun"
)

// childVar makes a copy of the test binary play a child. Its value is the part
// and its argument.
const childVar = "PTYRUN_TEST_CHILD"

func TestMain(m *testing.M) {
	part, arg, _ := strings.Cut(os.Getenv(childVar), " ")
	if part == "" {
		os.Exit(m.Run())
	}
	play, ok := parts()[part]
	if !ok {
		fmt.Fprintln(os.Stderr, "unknown part", part)
		os.Exit(99)
	}
	os.Exit(play(arg))
}

func parts() map[string]func(arg string) int {
	return map[string]func(string) int{
		"print":      printMuch,
		"sum":        sumStdin,
		"endure":     endure,
		"terminal":   describeTerminal,
		"supervisor": superviseOne,
	}
}

// printMuch prints so many numbered lines as fast as it can.
func printMuch(lines string) int {
	n, err := strconv.Atoi(lines)
	if err != nil {
		return 2
	}
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	if err := numbered(w, n); err != nil {
		return 1
	}
	if err := w.Flush(); err != nil {
		return 1
	}
	return 0
}

func numbered(w io.Writer, lines int) error {
	for i := range lines {
		if _, err := fmt.Fprintf(w, "{\"line\":%d,\"text\":\"%s\"}\n", i, strings.Repeat("x", i%200)); err != nil {
			return err
		}
	}
	return nil
}

// sumStdin prints the size and the hash of what stdin holds.
func sumStdin(string) int {
	data, err := io.ReadAll(os.Stdin)
	if err != nil {
		return 1
	}
	fmt.Printf("%d %x\n", len(data), sha256.Sum256(data))
	return 0
}

// endure ignores the signals it is told and exits with status 7 on another one.
func endure(ignored string) int {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	fmt.Println("ready")
	for sig := range signals {
		name := map[os.Signal]string{syscall.SIGINT: "INT", syscall.SIGTERM: "TERM"}[sig]
		fmt.Println("got", name)
		if !strings.Contains(ignored, name) {
			return 7
		}
	}
	return 1
}

// superviseOne starts one child, says its pid and waits to be killed.
func superviseOne(script string) int {
	p, err := ptyrun.Start(ptyrun.Command{Path: "/bin/sh", Args: []string{"-c", script}, Env: os.Environ(), Stderr: os.Stderr}, io.Discard)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(p.PID())
	select {}
}

// screen keeps what a child printed.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// process is a started child with its screen.
type process struct {
	*ptyrun.Process
	t      *testing.T
	screen *screen
}

// start starts a command that is ended with the test at the latest.
func start(t *testing.T, c ptyrun.Command, out io.Writer) *ptyrun.Process {
	t.Helper()
	if c.Stderr == nil {
		c.Stderr = os.Stderr
	}
	p, err := ptyrun.Start(c, out)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-p.PID(), syscall.SIGKILL)
		<-p.Done()
		p.Drain(0)
	})
	return p
}

// part starts a copy of the test binary, shell a shell script.
func part(t *testing.T, name, stdin string) process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{}
	return process{start(t, ptyrun.Command{Path: self, Env: append(os.Environ(), childVar+"="+name), Stdin: stdin}, s), t, s}
}

func shell(t *testing.T, script string) process {
	t.Helper()
	s := &screen{}
	return process{start(t, ptyrun.Command{Path: "/bin/sh", Args: []string{"-c", script}, Env: os.Environ()}, s), t, s}
}

const patience = 30 * time.Second

// says waits until the child has printed a text.
func (p process) says(text string) {
	p.t.Helper()
	poll(p.t, func() bool { return strings.Contains(p.screen.String(), text) })
}

// exits waits for the end and returns how it was.
func (p process) exits() ptyrun.Exit {
	p.t.Helper()
	select {
	case <-p.Done():
	case <-time.After(patience):
		p.t.Fatalf("it did not exit within %v; it printed %q", patience, p.screen.String())
	}
	return p.Exit()
}

// all waits for the end and returns everything that was printed.
func (p process) all() string {
	p.t.Helper()
	if e := p.exits(); e != (ptyrun.Exit{}) {
		p.t.Fatalf("it ended with %+v; it printed %q", e, p.screen.String())
	}
	if !p.Drain(patience) {
		p.t.Fatal("not everything was read")
	}
	return p.screen.String()
}

func poll(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen within %v", patience)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
