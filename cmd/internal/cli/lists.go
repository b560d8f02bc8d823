package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/screen"
	"autopilot/metrics/journal"
	"autopilot/metrics/ledger"
)

const listDefault = 20

func runsCommand(std Stdio) *cobra.Command {
	return listCommand(std, "runs", "List the runs of this repository", ledger.RunsFile, func(rec map[string]any) string {
		return fmt.Sprintf("%s  %-24s %2v/%-2v sessions  %9v tokens  $%.4f  %s", text(rec, "started_at"), text(rec, "exit_cause", "kill_switch"),
			rec["iterations_completed"], rec["max_sessions"], number(rec, "total_tokens_used"), float(rec, "total_cost_usd"), text(rec, "autopilot_run_id"))
	})
}

func sessionsCommand(std Stdio) *cobra.Command {
	return listCommand(std, "sessions", "List the sessions of this repository", ledger.SessionsFile, func(rec map[string]any) string {
		return fmt.Sprintf("%s  %-12s %-10s %4v files  $%.4f  %s  %s", text(rec, "started_at"), text(rec, "session_type"), text(rec, "ending", "status"),
			number(rec, "total_files_changed"), float(rec, "cost_usd"), text(rec, "session_id"), text(rec, "autopilot_run_id"))
	})
}

// listCommand makes a command that lists the end of a ledger, newest last. Lines
// that do not parse are counted, not shown; 'doctor' names them.
func listCommand(std Stdio, name, short, file string, row func(map[string]any) string) *cobra.Command {
	var asJSON bool
	var limit int
	c := &cobra.Command{Use: name, Short: short, Args: noArgs}
	c.Flags().BoolVar(&asJSON, "json", false, "print the records as JSON, one in a line")
	c.Flags().IntVarP(&limit, "limit", "n", listDefault, "how many of the last records to show; 0 shows all")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if limit < 0 {
			return usage("--limit takes a number from 0, got %d", limit)
		}
		p, err := setUp(c, std, nil)
		if err != nil {
			return err
		}
		path := filepath.Join(p.metricsDir(), file)
		n := limit
		if n == 0 {
			n = 1 << 30
		}
		lines, err := journal.Tail(path, n)
		if err != nil {
			return err
		}
		return printRecords(std, lines, asJSON, row)
	}
	return c
}

func printRecords(std Stdio, lines [][]byte, asJSON bool, row func(map[string]any) string) error {
	broken := 0
	var b bytes.Buffer
	for _, line := range lines {
		var rec map[string]any
		if json.Unmarshal(line, &rec) != nil || rec == nil {
			broken++
			continue
		}
		if asJSON {
			b.Write(line)
		} else {
			b.WriteString(screen.Plain(strings.TrimRight(row(rec), " ")))
		}
		b.WriteByte('\n')
	}
	if broken > 0 {
		fmt.Fprintf(std.Err, "autopilot: %d lines do not parse and are left out; 'autopilot doctor' names them\n", broken)
	}
	_, err := std.Out.Write(b.Bytes())
	return err
}

// text returns the first of the fields that holds text.
func text(rec map[string]any, fields ...string) string {
	for _, f := range fields {
		if s, ok := rec[f].(string); ok && s != "" {
			return s
		}
	}
	return "-"
}

func number(rec map[string]any, field string) int64 { return int64(float(rec, field)) }

func float(rec map[string]any, field string) float64 {
	v, _ := rec[field].(float64)
	return v
}
