package page

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

	"autopilot/cmd/internal/board"
	"autopilot/metrics/report/wording"
	"autopilot/supervisor/fleet"
)

// Run is the page of one run. The events are the latest, oldest first; at is the place
// behind them, from which the script listens on.
func Run(r board.Run, events []board.Event, at string, v Viewer) ([]byte, error) {
	parts, err := RunParts(r, v)
	if err != nil {
		return nil, err
	}
	list := eventItems(events, v.Now)
	f := frame{
		Title: parts[0].Title, Heading: runTitle(r), Viewer: v, Parts: parts, Events: &list, Refresh: !filled(r.Needs, v),
		Up:     []link{{"/", "All runs"}, {ProjectPath(r.Ref.Project), line(cmp.Or(r.Repo, r.Ref.Project), lineText)}},
		Stream: "/api/events?" + url.Values{"as": {"parts"}, "project": {r.Ref.Project}, "run": {r.Ref.Run}, "at": {at}}.Encode(),
	}
	return f.draw()
}

// RunParts are the parts of the page of a run, but for its events.
func RunParts(r board.Run, v Viewer) ([]Part, error) {
	return draft(
		drawing{"state", "state", runState(r, v)},
		drawing{"needs", "asks", questions(r.Needs, RunPath(r.Ref), v)},
		drawing{"actions", "actions", actions(r, v)},
		drawing{"numbers", "numbers", numbers(r, v)},
		drawing{"goals", "goals", goals(r)},
		drawing{"plots", "plots", plots(r, v)},
		drawing{"stories", "table-part", titled{"stories", "Stories", stories(r, v)}},
		drawing{"sessions", "table-part", titled{"sessions", "Sessions", sessionTable(r, v)}},
		drawing{"about", "about", about(r)},
		drawing{"problems", "problems", problems(r.Problems)},
	)
}

func runTitle(r board.Run) string {
	what := "Run "
	if r.Kind == fleet.KindCohort {
		what = "Cohort "
	}
	return what + line(strings.TrimSuffix(cmp.Or(r.RunID, r.Ref.Run), "-autopilot"), shortText)
}

func runState(r board.Run, v Viewer) stateModel {
	b := badgeOf(r.State)
	if !on(r.Row) {
		b = endedAs(r.Row)
	}
	m := stateModel{Badges: []badge{b}, Title: b.Word + " - " + runTitle(r) + " - autopilot"}
	if r.Tier != "" && on(r.Row) {
		m.Badges = append(m.Badges, badge{tierClass(r.Tier), "machine " + line(r.Tier, shortText)})
	}
	var words []string
	switch w := r.Waiting; {
	case w != nil:
		words = append(words, "It waits: "+line(cmp.Or(w.Why, "for a limit"), lineText)+".")
		if !w.Until.IsZero() {
			m.Until, m.Clock = stamp(w.Until), clock(w.Until, v.Now)
		}
	case r.Current != nil:
		words = append(words, fmt.Sprintf("Session %d runs.", r.Current.Number))
	}
	if r.Stopping != "" {
		words = append(words, "It ends after its session: "+line(r.Stopping, lineText)+".")
	}
	if !on(r.Row) {
		words = append(words, line(cmp.Or(r.Summary, r.Cause), longText))
	}
	m.Words = strings.TrimSpace(strings.Join(words, " "))
	return m
}

// actionsModel are the buttons for the run as a whole.
type actionsModel struct {
	Path, Form string
	Stop       bool // after the session
	Now        bool
	Report     bool
}

func actions(r board.Run, v Viewer) actionsModel {
	m := actionsModel{Path: RunPath(r.Ref), Form: v.Form, Report: v.Report}
	if !v.ReadOnly && on(r.Row) {
		m.Now, m.Stop = true, r.State != fleet.StateStopping && r.Stopping == ""
	}
	return m
}

type tile struct{ Name, Value, Below string }

func numbers(r board.Run, v Viewer) []tile {
	limitHours := ""
	if sound(r.MaxHours) {
		limitHours = "at most " + span(time.Duration(r.MaxHours*float64(time.Hour)))
	}
	took := ageOf(r.Row, v.Now)
	if !on(r.Row) && !r.Ended.IsZero() {
		took = between(r.Started, r.Ended)
	}
	out := []tile{
		{"Sessions", sessions(r.Row), ""},
		{"Done", percent(cmp.Or(r.Progress.Percent, r.Percent)), ""},
		{"Tokens", tokens(r.Tokens), "input, output, cache writes"},
		{"Cost", wording.Dollars(r.CostUSD), ""},
		{"Time", took, limitHours},
	}
	if on(r.Row) {
		out = append(out, tile{"Tier", cmp.Or(line(r.Tier, shortText), wording.None), "cap " + number(r.Cap)})
	}
	if r.Reward != nil {
		out = append(out, tile{"Reward", reward(r.Reward), "0 to 1"})
	}
	return out
}

type goalsModel struct {
	Goals      []goal
	Bar        string
	Percent    string
	Left       []tile
	Milestones []milestone
	More       int
	Last       string
}

type goal struct{ Text, Status, Percent, Bar string }

type milestone struct {
	Text string
	Done bool
}

func goals(r board.Run) goalsModel {
	const most = 50
	m := goalsModel{Last: line(r.Progress.Last, longText)}
	for _, g := range r.Goals[:min(len(r.Goals), most)] {
		p := &g.Percent
		m.Goals = append(m.Goals, goal{text(g.Text, longText), line(g.Status, shortText), percent(p), bar(p)})
	}
	p := cmp.Or(r.Progress.Percent, r.Percent)
	m.Bar, m.Percent = bar(p), percent(p)
	if m.Percent == wording.None {
		m.Percent = "not known yet"
	}
	if x := r.Progress; sound(x.Velocity) {
		m.Left = append(m.Left, tile{Name: "Velocity", Value: fmt.Sprintf("%.1f%% a session", x.Velocity)})
	}
	if x := r.Progress; sound(x.PerHour) {
		m.Left = append(m.Left, tile{Name: "Per hour", Value: fmt.Sprintf("%.1f%%", x.PerHour)})
	}
	if x := r.Progress; x.Left > 0 && on(r.Row) {
		m.Left = append(m.Left, tile{Name: "Left, about", Value: age(x.Left), Below: wording.Count(x.Sessions, "session")})
	}
	all := r.Progress.Milestones
	for _, x := range all[:min(len(all), most)] {
		m.Milestones = append(m.Milestones, milestone{line(x.Text, lineText), x.Done})
	}
	m.More = max(0, len(all)-most) + max(0, len(r.Goals)-most)
	return m
}

// sound reports whether a rate can be: more than nothing, and less than all at once.
func sound(rate float64) bool { return rate > 0 && rate < 1e6 }

func stories(r board.Run, v Viewer) table {
	if len(r.Stories) == 0 {
		return table{}
	}
	rows := make([]board.Row, len(r.Stories))
	for i, s := range r.Stories {
		s.Parent, s.Repo = "", ""
		rows[i] = s
	}
	t := active(rows, v)
	t.Name, t.Head[0].Text, t.Head[9].Text = "Stories of the cohort", "Story", "Branch"
	for i := range t.Rows {
		t.Rows[i].Cells[9].Text = line(cmp.Or(rows[i].Branch, wording.None), lineText)
	}
	return t
}

func sessionTable(r board.Run, v Viewer) table {
	t := table{
		Name: "Sessions of the run, the latest first", None: "No session has ended yet.",
		Head: heads("Session", "Mode", "Tier", "#Cap", "Ending", "#Tokens", "#Cost", "Began", "#Took", "#Files", "#Commits"),
	}
	if c := r.Current; c != nil {
		t.Rows = append(t.Rows, sessionRow(*c, v, true))
	}
	for i := range r.Sessions {
		if len(t.Rows) == mostRows {
			t.Left = wording.Count(len(r.Sessions)-i, "earlier session")
			break
		}
		t.Rows = append(t.Rows, sessionRow(r.Sessions[len(r.Sessions)-1-i], v, false))
	}
	return t
}

func sessionRow(s board.Session, v Viewer, runs bool) row {
	ending, took := cell{Text: line(s.Ending, shortText), Below: line(cmp.Or(s.Cause, s.Summary), lineText)}, between(s.Started, s.Ended)
	switch {
	case runs:
		ending, took = cell{Text: "runs", Badge: open}, ageOf(board.Row{Row: fleet.Row{Started: s.Started}}, v.Now)
	case s.Ending == "completed":
		ending.Badge = good
	case s.Ending == "":
		ending.Text, ending.Badge = "not known", quiet
	default:
		ending.Badge = bad
	}
	return row{Cells: []cell{
		{Text: wording.Number(int64(s.Number)), Below: line(cmp.Or(s.Work, s.Model), lineText)},
		{Text: line(cmp.Or(s.Mode, wording.None), shortText)},
		tierCell(s.Tier),
		{Text: number(s.Cap)},
		ending,
		{Text: tokens(s.Tokens)},
		{Text: wording.Dollars(s.CostUSD)},
		{Text: clock(s.Started, v.Now)},
		{Text: took},
		{Text: wording.Number(int64(s.Files))},
		{Text: wording.Number(int64(s.Commits))},
	}}
}

func about(r board.Run) []tile {
	var out []tile
	add := func(name, value string) {
		if value = line(value, longText); value != "" {
			out = append(out, tile{Name: name, Value: value})
		}
	}
	add("Run", r.RunID)
	add("Repository", r.Repo)
	add("Work tree", r.Worktree)
	add("Branch", r.Branch)
	add("Mode", r.Mode)
	add("Work from", r.Source)
	add("Folder", r.Folder)
	add("Cannot be resumed", r.Resumable)
	if r.PID > 0 && on(r.Row) {
		add("Process", fmt.Sprint(r.PID))
	}
	return out
}
