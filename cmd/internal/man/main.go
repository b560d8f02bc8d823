// Command man writes the manual pages of autopilot from the same texts as
// 'autopilot --help', for those who package it. It is a program of its own because
// what it needs would make every start of autopilot slower.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra/doc"

	"autopilot/cmd/internal/cli"
	"autopilot/cmd/internal/outside"
)

func main() {
	if len(os.Args) != 2 || strings.HasPrefix(os.Args[1], "-") { // a flag is no folder to make
		fmt.Fprintln(os.Stderr, "usage: man DIR")
		os.Exit(outside.ExitUsage)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

// write writes a page for every command into the folder dir, and makes it. The date
// is fixed, so that building twice gives the same bytes.
func write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	date := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	root := cli.Root(outside.Stdio{})
	root.DisableAutoGenTag = true
	return doc.GenManTree(root, &doc.GenManHeader{Title: "AUTOPILOT", Section: "1", Source: "autopilot", Manual: "autopilot", Date: &date}, dir)
}
