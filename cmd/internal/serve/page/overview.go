package page

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"autopilot/cmd/internal/board"
	"autopilot/metrics/report/wording"
	"autopilot/probe/tier"
	"autopilot/supervisor/fleet"
)

// mostRows is how many rows of a list are shown.
const mostRows = 500

// Overview is the first page.
func Overview(o board.Overview, v Viewer) ([]byte, error) {
	parts, err := OverviewParts(o, v)
	if err != nil {
		return nil, err
	}
	f := frame{Title: "autopilot", Heading: "Autopilot", Viewer: v, Parts: parts, Stream: "/api/events?as=parts", Refresh: true}
	f.Title = parts[0].Title
	return f.draw()
}

// OverviewParts are the parts of the first page.
func OverviewParts(o board.Overview, v Viewer) ([]Part, error) {
	return draft(
		drawing{"state", "state", overviewState(o)},
		drawing{"needs", "asks", asks(o.Questions, v)},
		drawing{"active", "table-part", titled{"active", "Now", active(o.Active, v)}},
		drawing{"past", "past", pastModel{titled{"past", "Before", past(o.Past, v)}, rewards(o.Past)}},
		drawing{"problems", "problems", problems(o.Problems)},
	)
}

// Project is the page of one project: its runs and how they were rewarded.
func Project(project string, o board.Overview, v Viewer) ([]byte, error) {
	theirs := func(rows []board.Row) []board.Row {
		return slices.DeleteFunc(slices.Clone(rows), func(r board.Row) bool { return r.Ref.Project != project })
	}
	o.Active, o.Past = theirs(o.Active), theirs(o.Past)
	o.Questions = slices.DeleteFunc(slices.Clone(o.Questions), func(n board.Need) bool { return n.Ref.Project != project })
	o.Problems = nil
	own := Unowned(o, project)
	o.Questions = slices.DeleteFunc(o.Questions, func(n board.Need) bool { return n.Ref == (board.Ref{Project: project}) && n.Kind == board.NeedGate })
	parts, err := OverviewParts(o, v)
	if err != nil {
		return nil, err
	}
	if len(own) > 0 {
		held, err := part("held", "asks", questions(own, ProjectPath(project), v))
		if err != nil {
			return nil, err
		}
		parts = slices.Insert(parts, 1, held)
	}
	name := line(project, shortText)
	for _, r := range slices.Concat(o.Active, o.Past) {
		if r.Repo != "" {
			name = line(r.Repo, lineText)
			break
		}
	}
	return frame{Title: name + " - autopilot", Heading: name, Up: []link{{"/", "All runs"}}, Viewer: v, Parts: parts, Refresh: !filled(own, v)}.draw()
}

// drawing is a part that is to be drawn.
type drawing struct {
	name, tmpl string
	model      any
}

// titler is a model that gives the page another title.
type titler interface{ title() string }

func draft(all ...drawing) ([]Part, error) {
	parts := make([]Part, 0, len(all))
	for _, d := range all {
		p, err := part(d.name, d.tmpl, d.model)
		if err != nil {
			return nil, err
		}
		if t, ok := d.model.(titler); ok {
			p.Title = t.title()
		}
		parts = append(parts, p)
	}
	return parts, nil
}

type titled struct {
	ID    string
	Title string
	Table table
}

type pastModel struct {
	titled
	Rewards figure
}

// stateModel is the line that is always true.
type stateModel struct {
	Badges []badge
	Words  string
	Until  string // for a machine; the script counts down to it
	Clock  string
	Title  string
}

func (m stateModel) title() string { return m.Title }

func overviewState(o board.Overview) stateModel {
	runs, worst := 0, tier.Tier("")
	for _, r := range o.Active {
		if r.Kind == fleet.KindRun || r.Kind == fleet.KindCohort {
			runs++
		}
		if t := tier.Tier(r.Tier); t.Rank() > worst.Rank() {
			worst = t
		}
	}
	m := stateModel{Title: "autopilot"}
	if n := len(o.Questions); n > 0 {
		m.Badges = append(m.Badges, badge{person, wording.Count(n, "thing") + " for a person"})
		m.Title = fmt.Sprintf("(%d) autopilot", n)
	}
	m.Badges = append(m.Badges, badge{cmp.Or(map[bool]string{true: open}[runs > 0], quiet), wording.Count(runs, "run") + " on"})
	if worst != "" {
		m.Badges = append(m.Badges, badge{tierClass(string(worst)), "machine " + string(worst)})
	} else {
		m.Badges = append(m.Badges, badge{quiet, "machine not measured"})
	}
	return m
}

func active(rows []board.Row, v Viewer) table {
	t := table{
		Name: "Runs and sessions that are on", None: "Nothing runs on this machine.",
		Head: heads("Run", "State", "#Session", "Done", "Tier", "#Cap", "#Tokens", "#Cost", "#Age", "Where"),
	}
	above := ""
	for i, r := range rows {
		if i == mostRows {
			t.Left = wording.Count(len(rows)-i, "row") + " more"
			break
		}
		nested := r.Parent != "" && r.Parent == above
		if !nested {
			above = r.RunID
		}
		b := badgeOf(r.State)
		t.Rows = append(t.Rows, row{Nested: nested, Cells: []cell{
			name(r, nested),
			{Text: b.Word, Badge: b.Class, Below: line(r.Note, lineText)},
			{Text: sessions(r)},
			{Text: percent(r.Percent), Bar: bar(r.Percent)},
			tierCell(r.Tier),
			{Text: number(r.Cap)},
			{Text: used(r, tokens(r.Tokens))},
			{Text: used(r, wording.Dollars(r.CostUSD))},
			{Text: ageOf(r, v.Now)},
			{Text: line(where(r), lineText), Path: true},
		}})
	}
	return t
}

func past(rows []board.Row, v Viewer) table {
	t := table{
		Name: "Runs that have ended, the latest first", None: "No run has ended yet.",
		Head: heads("Run", "How", "Ended", "#Took", "#Sessions", "Done", "#Tokens", "#Cost", "#Reward"),
	}
	for i, r := range rows {
		if i == mostRows {
			t.Left = wording.Count(len(rows)-i, "run") + " more"
			break
		}
		b := endedAs(r)
		t.Rows = append(t.Rows, row{Cells: []cell{
			name(r, false),
			{Text: b.Word, Badge: b.Class, Below: line(cmp.Or(r.Cause, r.Note), lineText)},
			{Text: clock(r.Ended, v.Now)},
			{Text: between(r.Started, r.Ended)},
			{Text: sessions(r)},
			{Text: percent(r.Percent), Bar: bar(r.Percent)},
			{Text: tokens(r.Tokens)},
			{Text: wording.Dollars(r.CostUSD)},
			{Text: reward(r.Reward)},
		}})
	}
	return t
}

// name is a run with what it is for.
func name(r board.Row, nested bool) cell {
	c := cell{Text: line(shortID(r), shortText), Below: line(cmp.Or(r.Goal, r.Source), lineText)}
	if r.Kind == fleet.KindCohort {
		c.Text += " (cohort)"
	}
	if r.Ref != (board.Ref{}) {
		c.Href = RunPath(r.Ref)
	}
	if !nested && r.Kind != fleet.KindPeer && r.Repo != "" {
		c.Below = strings.TrimSuffix(line(path.Base(r.Repo), shortText)+": "+c.Below, ": ")
	}
	return c
}

func shortID(r board.Row) string {
	switch r.Kind {
	case fleet.KindPeer:
		return "other Claude Code session"
	case fleet.KindStory:
		return cmp.Or(r.Story, r.RunID)
	}
	return strings.TrimSuffix(r.RunID, "-autopilot")
}

func sessions(r board.Row) string {
	switch {
	case r.Kind == fleet.KindPeer || r.Iteration == 0 && r.MaxSessions == 0:
		return wording.None
	case r.MaxSessions > 0:
		return fmt.Sprintf("%d of %d", r.Iteration, r.MaxSessions)
	}
	return wording.Number(int64(r.Iteration))
}

// used is what a row has used, which of a session that is not ours nobody knows.
func used(r board.Row, what string) string {
	if r.Kind == fleet.KindPeer {
		return wording.None
	}
	return what
}

func tierCell(t string) cell {
	if t == "" {
		return cell{Text: wording.None}
	}
	return cell{Text: line(t, shortText), Badge: tierClass(t)}
}

func ageOf(r board.Row, now time.Time) string {
	if !r.Started.IsZero() {
		return age(now.Sub(r.Started))
	}
	if r.AgeSeconds <= 0 {
		return wording.None
	}
	return age(time.Duration(r.AgeSeconds) * time.Second)
}

func where(r board.Row) string { return cmp.Or(r.Branch, r.Worktree, r.Repo, wording.None) }

func reward(f *float64) string {
	if f == nil || !(*f >= 0 && *f <= 1) {
		return wording.None
	}
	return fmt.Sprintf("%.2f", *f)
}

type problemsModel struct {
	Lines []string
	Left  int
}

func problems(all []string) problemsModel {
	const most = 20
	m := problemsModel{Left: max(0, len(all)-most)}
	for _, p := range all[:min(len(all), most)] {
		m.Lines = append(m.Lines, line(p, longText))
	}
	return m
}
