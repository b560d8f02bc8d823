package account

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"
)

const helperEnv = "ACCOUNT_TEST_HELPER"

// TestMain lets the test binary play another process.
func TestMain(m *testing.M) {
	name := os.Getenv(helperEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := runHelper(name, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

const rounds = 20

// runHelper notes and clears for ever new limits as the process with a number, from the
// moment on at which its input ends.
func runHelper(name string, args []string) error {
	if name != "crowd" {
		return runSystemHelper(name, args[0])
	}
	number, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	a := Account{Dir: args[0], ID: "crowd"}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	for n := range rounds {
		for _, l := range crowdLimits(number, n) {
			if err := patiently(func() error { return a.Note(l) }); err != nil {
				return err
			}
		}
		if err := patiently(func() error { return a.Clear(noon()) }); err != nil {
			return err
		}
		if err := patiently(func() error { return a.ClearModel("opus", noon()) }); err != nil {
			return err
		}
	}
	return nil
}

// crowdLimits are those that a process notes in a round: one of a kind that all share,
// one of its own, and one that every process may clear.
func crowdLimits(number, round int) []Limit {
	at := noon().Add(time.Duration(round) * time.Second)
	step := time.Duration(round*10+number) * time.Minute
	return []Limit{
		{Kind: "shared", Until: at.Add(time.Hour + step), At: at},
		{Kind: "own" + strconv.Itoa(number), Model: "opus", Until: at.Add(2*time.Hour + step), At: at},
		{Kind: "old" + strconv.Itoa(number), Until: at.Add(3 * time.Hour), At: noon().Add(-time.Second)},
	}
}

// patiently tries again on a machine so busy that the lock was not to be had.
func patiently(fn func() error) error {
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := fn()
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

func noon() time.Time { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC) }

type process struct {
	in    io.Closer
	ended chan error // how it ended, once
}

func start(t *testing.T, args ...string) process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...) // ends with the test
	cmd.Env = append(os.Environ(), helperEnv+"=crowd")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := process{in, make(chan error, 1)}
	var wait sync.WaitGroup
	wait.Go(func() { p.ended <- cmd.Wait() })
	t.Cleanup(wait.Wait)
	return p
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func note(t *testing.T, a Account, limits ...Limit) {
	t.Helper()
	for _, l := range limits {
		if err := a.Note(l); err != nil {
			t.Fatal(err)
		}
	}
}

// kinds lists the kinds that are on file, the one that ends last first.
func kinds(t *testing.T, a Account) []string {
	t.Helper()
	all, err := a.load()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, l := range all {
		out = append(out, l.Kind)
	}
	return out
}
