package cli_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// says FILE N KEY PATTERN wants that field of the Nth JSON value of a file to be
// text that matches a pattern. FILE and KEY are as with record.
func says(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 4 {
		ts.Fatalf("usage: says FILE N KEY PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[3])
	ts.Check(err)
	got := field(ts, args[0], args[1], args[2])
	text, ok := got.(string)
	if !ok {
		ts.Fatalf("%s of %s is %#v, want text", args[2], args[0], got)
	}
	if pattern.MatchString(text) == neg {
		ts.Fatalf("%s of %s is %q, pattern %q (negated: %v)", args[2], args[0], text, args[3], neg)
	}
}

// holds FILE PATTERN waits until the content of a file matches a pattern.
func holds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: holds FILE PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	deadline := time.Now().Add(60 * time.Second)
	for {
		data, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && pattern.Match(data) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s does not hold %q: %v: %q", args[0], args[1], err, data)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// until PATTERN CMD ARG... runs a command again and again until what it prints
// matches a pattern.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN CMD ARG...")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	deadline := time.Now().Add(60 * time.Second)
	for {
		ts.Check(ts.Exec(args[1], args[2:]...))
		if pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%v does not print %q", args[1:], args[0])
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// begins A B wants A to begin with the whole of B, byte by byte.
func begins(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: begins A B")
	}
	a, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	b, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	if bytes.HasPrefix(a, b) == neg {
		ts.Fatalf("%s begins with %s: %v", args[0], args[1], !neg)
	}
}

// tree FILE writes down every file of the home and of the repository, its mode
// and a sum of its content, so that two moments can be compared.
func tree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tree FILE")
	}
	var b strings.Builder
	for _, root := range []string{filepath.Join(ts.Getenv("WORK"), "home"), ts.Getenv("REPO")} {
		ts.Check(filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			sum := ""
			if info.Mode().IsRegular() {
				data, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				sum = fmt.Sprintf("%x", sha256.Sum256(data))
			}
			_, err = fmt.Fprintln(&b, name, info.Mode(), sum)
			return err
		}))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o600))
}

// lastrun sets RUN to the id of the run that was started last, and RUNDIR to the
// folder of its state.
func lastRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: lastrun")
	}
	found, err := filepath.Glob(filepath.Join(ts.Getenv("STATE"), "projects", "*", "current-run.json"))
	ts.Check(err)
	if len(found) > 1 { // stories have projects of their own
		found = slices.DeleteFunc(found, func(f string) bool {
			path, ok := field(ts, filepath.Join(filepath.Dir(f), "project.json"), "0", "path").(string)
			return !ok || filepath.Base(path) != "repo"
		})
	}
	if len(found) != 1 {
		ts.Fatalf("%d projects have runs, want 1", len(found))
	}
	id, ok := field(ts, found[0], "0", "run_id").(string)
	if !ok {
		ts.Fatalf("%s names no run", found[0])
	}
	ts.Setenv("RUN", id)
	ts.Setenv("RUNDIR", filepath.Join(filepath.Dir(found[0]), "runs", id))
}
