package statedir

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

const helperEnv = "STATEDIR_TEST_HELPER"

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

func runHelper(name string, args []string) error {
	switch name {
	case "projects": // root path...: opens each and prints its folder
		for _, path := range args[1:] {
			p, err := OpenProject(args[0], path)
			if err != nil {
				return err
			}
			fmt.Printf("%s\t%s\n", path, p.Dir)
		}
		return nil
	case "replace": // path: replaces for ever and prints each number once it is durable
		var last counter
		if err := LoadJSON(args[0], &last); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for n := last.N + 1; ; n++ {
			if err := ReplaceJSON(args[0], counter{N: n, Filler: strings.Repeat("x", n%9000)}); err != nil {
				return err
			}
			fmt.Println(n)
		}
	case "hold": // path run: takes the lock, prints "held", keeps it until stdin ends
		l, err := Acquire(context.Background(), args[0], Holder{RunID: args[1]})
		if err != nil {
			return err
		}
		fmt.Println("held")
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			return err
		}
		return l.Release()
	case "hold-with-child": // path: takes the lock and starts a child that outlives it
		if _, err := Acquire(context.Background(), args[0], Holder{}); err != nil {
			return err
		}
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), helperEnv+"=wait")
		child.Stdin, child.Stdout = os.Stdin, os.Stdout
		if err := child.Start(); err != nil {
			return err
		}
		return child.Wait()
	case "wait": // prints "waiting", lives until stdin ends
		fmt.Println("waiting")
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	}
	return runSystemHelper(name, args)
}

type counter struct {
	N      int
	Filler string
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

// expired is a context that allows one try.
func expired(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	t.Cleanup(cancel)
	return ctx
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func toJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
