package outside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"

	"autopilot/cmd/internal/screen"
	"autopilot/sessions/launch"
)

// Stdio is the outside of a command.
type Stdio struct {
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Environ []string
	Self    string   // path of this program, for the processes that call it back
	Dir     string   // where it was started, before -C
	Args    []string // of this program, to start it again under a guard
	TTY     bool     // stderr is a terminal
	InTTY   bool     // so is stdin
	OutTTY  bool     // so is stdout
	Width   int      // of that terminal
}

// System is the outside of the running process.
func System() Stdio {
	s := Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Self: self(), Width: 80}
	if dir, err := os.Getwd(); err == nil {
		s.Dir = dir
	}
	s.InTTY, s.OutTTY = term.IsTerminal(int(os.Stdin.Fd())), term.IsTerminal(int(os.Stdout.Fd()))
	fd := int(os.Stderr.Fd())
	if s.TTY = term.IsTerminal(fd); s.TTY {
		if w, _, err := term.GetSize(fd); err == nil && w > 0 {
			s.Width = w
		}
	}
	return s
}

// Getenv returns the value of a variable, or nothing.
func (s Stdio) Getenv(name string) string { return launch.Lookup(s.Environ, name) }

// JSON prints a value for a program, indented by two spaces.
func (s Stdio) JSON(v any) error {
	enc := json.NewEncoder(s.Out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// Say prints text for a person.
func (s Stdio) Say(format string, args ...any) error {
	_, err := io.WriteString(s.Out, screen.Plain(fmt.Sprintf(format, args...)))
	return err
}

// self is the path under which this program can be started again. The name it
// was called by comes first, because one binary may serve under several names;
// the kernel's answer is taken when that name leads elsewhere.
func self() string {
	exe, err := os.Executable()
	if err != nil {
		exe = os.Args[0]
	}
	name := os.Args[0]
	if !strings.Contains(name, "/") {
		found, err := exec.LookPath(name)
		if err != nil {
			return exe
		}
		name = found
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return exe
	}
	a, errA := os.Stat(abs)
	b, errB := os.Stat(exe)
	if errA != nil || errB != nil || !os.SameFile(a, b) {
		return exe
	}
	return abs
}

// Asks reports whether a person can be asked: both ends are a terminal.
func (s Stdio) Asks() bool { return s.TTY && s.InTTY }

// Ask prints a question on stderr and returns the line that a person types. The
// error is for an end of input and for a context that ends.
func (s Stdio) Ask(ctx context.Context, question string) (string, error) {
	if _, err := io.WriteString(s.Err, screen.Plain(question)); err != nil {
		return "", err
	}
	type reply struct {
		line string
		err  error
	}
	got := make(chan reply, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		line, err := readLine(s.In)
		got <- reply{line, err}
	})
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-got:
		return strings.TrimSpace(r.line), r.err
	}
}

// readLine reads one line byte by byte, so that nothing behind it is lost.
func readLine(r io.Reader) (string, error) {
	const most = 64 << 10
	var line []byte
	for b := make([]byte, 1); len(line) < most; {
		n, err := r.Read(b)
		if n > 0 && b[0] == '\n' {
			return string(line), nil
		}
		line = append(line, b[:n]...)
		if err != nil {
			if len(line) > 0 && errors.Is(err, io.EOF) {
				return string(line), nil
			}
			return "", errors.New("nobody answers")
		}
	}
	return string(line), nil
}

// Without returns an environment without a variable.
func Without(environ []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(names, name)
	})
}
