package keepcmd

import (
	"fmt"
	"strings"
	"time"

	"autopilot/cmd/internal/screen"
	"autopilot/metrics/statedir"
	"autopilot/supervisor/keep"
)

// plain is text for one line of a terminal.
func plain(s string) string { return screen.Plain(strings.Join(strings.Fields(s), " ")) }

// named is what an item is called.
func named(it keep.Item) string {
	switch it.Kind {
	case keep.KindProject:
		return "the state of " + it.Project
	case keep.KindTemp:
		return fmt.Sprintf("%d temporary files in %s", len(it.Files), it.Dir)
	case keep.KindLeft:
		return fmt.Sprintf("%d remnants of an earlier gc in %s", len(it.Files), it.Dir)
	case keep.KindRun:
	}
	return it.RunID + " in " + it.Project
}

// size is a number of bytes for a person.
func size(n int64) string { return statedir.InWords(uint64(max(0, n))) }

// planText says what would be done about each item, and why.
func planText(items []keep.Item) string {
	var b strings.Builder
	var sum totals
	for _, it := range items {
		verb := "keep"
		switch it.Action {
		case keep.Remove:
			verb = "would remove"
		case keep.Compress:
			verb = "would compress"
		case keep.Retain:
		}
		sum.add(it)
		fmt.Fprintf(&b, "%-14s %s, %s: %s\n", verb, plain(named(it)), what(it), plain(it.Detail))
	}
	fmt.Fprintf(&b, "%s\n", sum.text("would free", "at most "))
	return b.String()
}

func what(it keep.Item) string {
	if it.Action == keep.Compress {
		return size(it.Bytes) + " in " + count(len(it.Files), "file")
	}
	return size(it.Bytes)
}

// dryEnd says that nothing was done.
func dryEnd(work bool) string {
	if !work {
		return ""
	}
	return "nothing was done; with --yes it is\n"
}

// totals are sums over items.
type totals struct {
	removed, compressed, kept int   // runs
	projects                  int   // removed
	bytes                     int64 // removed
	loose                     int64 // to be compressed
}

func (t *totals) add(it keep.Item) {
	switch {
	case it.Action == keep.Compress:
		t.compressed++
		t.loose += it.Bytes
	case it.Action == keep.Remove:
		t.bytes += it.Bytes
		if it.Kind == keep.KindRun {
			t.removed++
		}
		if it.Kind == keep.KindProject {
			t.projects++
		}
	case it.Kind == keep.KindRun:
		t.kept++
	}
}

func (t *totals) text(verb, more string) string {
	s := fmt.Sprintf("%s %s by removing %s", verb, size(t.bytes), count(t.removed, "run"))
	if t.projects > 0 {
		s += " and " + count(t.projects, "project")
	}
	if t.compressed > 0 {
		s += fmt.Sprintf(", and %s%s by compressing files of %s", more, size(t.loose), count(t.compressed, "run"))
	}
	return s + "; keeping " + count(t.kept, "run")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// doneText says what was done.
func doneText(items []keep.Item, done []keep.Done) string {
	var b strings.Builder
	var sum totals
	for _, it := range items {
		if it.Action == keep.Retain {
			sum.add(it)
		}
	}
	for _, d := range done {
		switch it := d.Item; {
		case d.Skipped != "":
			sum.kept++
			fmt.Fprintf(&b, "left %s: %s\n", plain(named(it)), plain(d.Skipped))
		case d.Err != nil && d.Freed == 0: // the error tells
		default:
			it.Bytes = d.Freed
			sum.add(it)
			verb := "removed"
			if it.Action == keep.Compress {
				verb = "compressed"
			}
			fmt.Fprintf(&b, "%s %s: %s\n", verb, plain(named(it)), size(d.Freed))
		}
	}
	fmt.Fprintf(&b, "%s\n", sum.text("freed", ""))
	return b.String()
}

// gcView is the JSON form.
type gcView struct {
	DryRun   bool        `json:"dry_run"`
	Policy   policyView  `json:"policy"`
	Items    []keep.Item `json:"items"`
	Done     []doneView  `json:"done"`
	Bytes    int64       `json:"bytes"` // that were freed; in a dry run those of what would be removed
	Problems []string    `json:"problems"`
}

type policyView struct {
	Days      int    `json:"keep_days"`
	Runs      int    `json:"keep_runs"`
	After     string `json:"compress_after"`
	Resumable bool   `json:"include_resumable"`
	Orphans   bool   `json:"orphans"`
}

type doneView struct {
	Kind    keep.Kind   `json:"kind"`
	Action  keep.Action `json:"action"`
	Project string      `json:"project"`
	RunID   string      `json:"run_id,omitempty"`
	Freed   int64       `json:"freed_bytes"`
	Skipped string      `json:"skipped,omitempty"`
	Error   string      `json:"error,omitempty"`
}

func (g *cleaning) view(items []keep.Item, done []keep.Done, problems []error) gcView {
	v := gcView{DryRun: done == nil, Items: items, Done: []doneView{}, Problems: []string{}, Policy: policyView{
		Days: g.policy.Days, Runs: g.policy.Runs, After: age(g.policy.CompressAfter), Resumable: g.policy.Resumable, Orphans: g.policy.Orphans,
	}}
	if items == nil {
		v.Items = []keep.Item{}
	}
	for _, p := range problems {
		v.Problems = append(v.Problems, p.Error())
	}
	for _, d := range done {
		x := doneView{Kind: d.Kind, Action: d.Action, Project: d.Project, RunID: d.RunID, Freed: d.Freed, Skipped: d.Skipped}
		if d.Err != nil {
			x.Error = d.Err.Error()
		}
		v.Done, v.Bytes = append(v.Done, x), v.Bytes+d.Freed
	}
	if done == nil {
		for _, it := range items {
			if it.Action == keep.Remove {
				v.Bytes += it.Bytes
			}
		}
	}
	return v
}

func age(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "never"
	case d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	}
	return d.String()
}
