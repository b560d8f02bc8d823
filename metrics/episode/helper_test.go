package episode

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

	"pgregory.net/rapid"
)

const helperEnv = "EPISODE_TEST_HELPER"

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
	if name != "append" { // folder who count: prints each id once it is stored
		return runSystemHelper(name, args)
	}
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	for i := range n {
		e, err := small(args[0], 0).Append(Episode{Task: fmt.Sprintf("work of %s number%d", args[1], i)})
		if err != nil {
			return err
		}
		fmt.Println(e.ID)
	}
	return nil
}

// small is a store with small chunks, so that few episodes make many of them.
func small(dir string, keep int) *Store {
	s := Open(dir, Options{Keep: keep})
	s.per, s.step = 16, 4
	return s
}

func start(t *testing.T, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), helperEnv+"=append")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewReader(out)
}

// ids returns the ids that the process still prints until its end.
func ids(t *testing.T, out io.Reader) []string {
	t.Helper()
	b, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	list := strings.Split(string(b), "\n")
	return list[:len(list)-1]
}

func encode(tb rapid.TB, e Episode) []byte {
	tb.Helper()
	line, err := json.Marshal(e)
	if err != nil {
		tb.Fatal(err)
	}
	return line
}

func mustAppend(tb rapid.TB, s *Store, e Episode) Episode {
	tb.Helper()
	e, err := s.Append(e)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func all(tb rapid.TB, s *Store) []Episode {
	tb.Helper()
	var list []Episode
	err := s.Each(func(e Episode) error {
		list = append(list, e)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

func recall(tb rapid.TB, s *Store, query string, limit int) []Match {
	tb.Helper()
	list, err := s.Recall(query, limit)
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

func tasks(list []Match) []string {
	out := []string{}
	for _, m := range list {
		out = append(out, m.Task)
	}
	return out
}

func files(tb rapid.TB, dir, pattern string) []string {
	tb.Helper()
	list, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		tb.Fatal(err)
	}
	for i := range list {
		list[i] = filepath.Base(list[i])
	}
	return list
}

func read(tb rapid.TB, path string) []byte {
	tb.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func write(tb rapid.TB, path string, b []byte) {
	tb.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		tb.Fatal(err)
	}
}
