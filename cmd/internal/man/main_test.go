package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"autopilot/cmd/internal/cli"
	"autopilot/cmd/internal/outside"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	dir, again := filepath.Join(t.TempDir(), "man"), t.TempDir()
	for _, d := range []string{dir, again} {
		if err := write(d); err != nil {
			t.Fatal(err)
		}
	}
	page := func(dir, name string) []byte {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	commands := 0
	for _, c := range cli.Root(outside.Stdio{}).Commands() {
		name := "autopilot-" + c.Name() + ".1"
		if c.Hidden {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				t.Errorf("%s serves the program alone, and has a page", c.Name())
			}
			continue
		}
		commands++
		if !bytes.Contains(page(dir, name), []byte(strings.Fields(c.Short)[0])) {
			t.Errorf("%s does not say what it is", name)
		}
		if !bytes.Equal(page(dir, name), page(again, name)) {
			t.Errorf("%s is not the same the second time", name)
		}
	}
	if commands < 20 {
		t.Errorf("%d commands have a page, want all", commands)
	}
	if !bytes.Contains(page(dir, "autopilot-run.1"), []byte("max-sessions")) {
		t.Error("the page of run lacks its flags")
	}
	if !bytes.Contains(page(dir, "autopilot.1"), []byte("Exit status")) {
		t.Error("the exit codes are not in the manual")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(filepath.Join(file, "below")); err == nil {
		t.Error("a folder that cannot be made is no error")
	}
}
