package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"autopilot/cmd/internal/cli/arg"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/screen"
	"autopilot/metrics/journal"
	"autopilot/metrics/ledger"
	"autopilot/supervisor"
)

const listDefault = 20

// listing is a command that lists the end of a ledger.
type listing struct {
	name, short, long, file string
	row                     func(rec map[string]any) string
	// more returns fields that are not in the ledger; it may be nil.
	more func(p job.Place) func(rec map[string]any) map[string]any
}

func runsCommand(std outside.Stdio) *cobra.Command {
	return listCommand(std, listing{
		name: "runs", short: "List the runs of this repository, and which of them can be continued", file: ledger.RunsFile,
		long: "List the last runs with how they ended. A run that can be continued with 'autopilot resume RUN' is marked;\nfor the others --json says why not.",
		more: resumable,
		row: func(rec map[string]any) string {
			mark := ""
			if rec[resumableField] == true {
				mark = "  resumable"
			}
			done, of, what, tokens, cost := rec["iterations_completed"], rec["max_sessions"], "sessions", "total_tokens_used", "total_cost_usd"
			if list, ok := rec["stories"].([]any); ok && rec["kind"] == ledger.CoordinatorKind {
				done, of, what, tokens, cost = rec["completed_count"], len(list), "stories ", "cohort_tokens", "cohort_cost_usd"
			}
			return fmt.Sprintf("%s  %-24s %2v/%-2v %s  %9v tokens  $%.4f  %s%s", text(rec, "started_at"), text(rec, "exit_cause", "kill_switch"),
				done, of, what, number(rec, tokens), float(rec, cost), text(rec, "autopilot_run_id"), mark)
		},
	})
}

const (
	resumableField = "resumable"
	whyNotField    = "not_resumable_because"
)

// resumable looks into the state of a run for whether it can be continued.
func resumable(p job.Place) func(map[string]any) map[string]any {
	project, found, err := p.FindProject()
	return func(rec map[string]any) map[string]any {
		why := "its state is not here"
		if id := text(rec, "autopilot_run_id"); found && err == nil {
			if st, err := supervisor.LoadState(project.RunDir(id)); err == nil {
				why = supervisor.NotResumable(st)
			} else if !errors.Is(err, fs.ErrNotExist) {
				why = err.Error()
			}
		}
		if why != "" {
			return map[string]any{resumableField: false, whyNotField: why}
		}
		return map[string]any{resumableField: true}
	}
}

func sessionsCommand(std outside.Stdio) *cobra.Command {
	return listCommand(std, listing{
		name: "sessions", short: "List the sessions of this repository", file: ledger.SessionsFile,
		row: func(rec map[string]any) string {
			return fmt.Sprintf("%s  %-12s %-10s %4v files  $%.4f  %s  %s", text(rec, "started_at"), text(rec, "session_type"), text(rec, "ending", "status"),
				number(rec, "total_files_changed"), float(rec, "cost_usd"), text(rec, "session_id"), text(rec, "autopilot_run_id"))
		},
	})
}

// listCommand makes a command that lists the end of a ledger, newest last. Lines
// that do not parse are counted, not shown; 'doctor' names them.
func listCommand(std outside.Stdio, l listing) *cobra.Command {
	var asJSON bool
	var limit int
	c := &cobra.Command{Use: l.name, Short: l.short, Long: l.long, Args: arg.None}
	c.Flags().BoolVar(&asJSON, "json", false, "print the records as JSON, one in a line")
	c.Flags().IntVarP(&limit, "limit", "n", listDefault, "how many of the last records to show; 0 shows all")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if limit < 0 {
			return outside.Usage("--limit takes a number from 0, got %d", limit)
		}
		p, err := job.SetUp(c.Context(), std, nil)
		if err != nil {
			return err
		}
		n := limit
		if n == 0 {
			n = 1 << 30
		}
		lines, err := journal.Tail(filepath.Join(p.MetricsDir(), l.file), n)
		if err != nil {
			return err
		}
		return l.print(std, p, lines, asJSON)
	}
	return c
}

func (l listing) print(std outside.Stdio, p job.Place, lines [][]byte, asJSON bool) error {
	broken := 0
	more := func(map[string]any) map[string]any { return nil }
	if l.more != nil {
		more = l.more(p)
	}
	var b bytes.Buffer
	for _, line := range lines {
		var rec map[string]any
		if json.Unmarshal(line, &rec) != nil || rec == nil {
			broken++
			continue
		}
		added := more(rec)
		if asJSON {
			b.Write(with(line, added))
		} else {
			maps.Copy(rec, added)
			b.WriteString(screen.Plain(strings.TrimRight(l.row(rec), " ")))
		}
		b.WriteByte('\n')
	}
	if broken > 0 {
		fmt.Fprintf(std.Err, "autopilot: %d lines do not parse and are left out; 'autopilot doctor' names them\n", broken)
	}
	_, err := std.Out.Write(b.Bytes())
	return err
}

// with puts further fields at the end of a JSON object, whose own stay as they
// are.
func with(object []byte, fields map[string]any) []byte {
	data, err := json.Marshal(fields)
	if err != nil || len(fields) == 0 {
		return object
	}
	object = bytes.TrimRight(object, " \t")
	return slices.Concat(object[:len(object)-1], []byte(","), data[1:])
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
