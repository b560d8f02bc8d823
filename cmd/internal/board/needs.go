package board

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"autopilot/cmd/internal/board/lines"
	"autopilot/metrics/report/wording"
	"autopilot/sessions/approval"
	"autopilot/supervisor"
	"autopilot/supervisor/queue"
	"autopilot/supervisor/story"
)

const (
	resumeFor  = 7 * 24 * time.Hour // after its end a run that could go on is no need any more
	expiredFor = 24 * time.Hour     // after which a call that nobody answered is no need any more
	needsEach  = 100                // of one kind in a project
)

// gates are the calls of a project that were held, as they were read last.
type gates struct {
	seen  lines.Seen
	key   lines.Seen
	list  []approval.Gate
	wrong []string
}

// read returns the gates that nobody has decided, the newest last.
func (g *gates) read(root string, p *project, now time.Time) []approval.Gate {
	desk := approval.Desk{Dir: filepath.Join(p.Dir, "gates"), Key: filepath.Join(root, "gates.key")}
	dir := g.seen.Changed(desk.Dir)
	if g.seen.Stamp().None() {
		g.list, g.wrong = nil, nil
		return nil
	}
	if key := g.key.Changed(desk.Key); dir || key {
		list, err := desk.List(time.Time{}) // nothing has expired then
		g.list = slices.DeleteFunc(list, func(x approval.Gate) bool { return !x.Open() })
		g.wrong = words(err)
	}
	var out []approval.Gate
	for _, x := range g.list {
		if now.Sub(x.ExpiresAt) < expiredFor {
			out = append(out, x)
		}
	}
	return out[max(0, len(out)-needsEach):]
}

// pile are the items of a queue that were put aside, as they were read last.
type pile struct {
	seen  lines.Seen
	items []queue.Item
	wrong []string
}

func (q *pile) read(p *project) []queue.Item {
	store := queue.Store{Path: filepath.Join(p.Dir, "queue.json")}
	if !q.seen.Changed(store.Path) {
		return q.items
	}
	list, err := store.Load()
	q.items, q.wrong = nil, words(err)
	for _, it := range list.Items {
		if (it.Status == queue.NeedsHuman || it.Status == queue.Failed) && len(q.items) < needsEach {
			q.items = append(q.items, it)
		}
	}
	return q.items
}

// needs are what waits for a person, in the order of the projects.
func (c *Cache) needs(now time.Time) (all []Need, problems []string) {
	for _, p := range c.projects {
		needs := p.needs(c.root, now)
		all = append(all, needs...)
		problems = append(append(problems, p.gates.wrong...), p.queue.wrong...)
	}
	slices.SortStableFunc(all, func(a, b Need) int { return urgency(a) - urgency(b) })
	return all, problems
}

// urgency orders needs: what is held, what is asked, the rest.
func urgency(n Need) int {
	switch n.Kind {
	case NeedGate:
		return 0
	case NeedAnswer:
		return 1
	case NeedRetry:
		return 2
	}
	return 3
}

func (p *project) needs(root string, now time.Time) []Need {
	var out []Need
	for _, g := range p.gates.read(root, p, now) {
		out = append(out, gateNeed(p, g))
	}
	for _, it := range p.queue.read(p) {
		out = append(out, Need{
			Ref: Ref{p.slug, it.RunID}, Repo: p.Path, Kind: NeedRetry, ID: wording.Line(it.ID, lineRunes), Text: wording.Line(it.Short(), lineRunes),
			Why: wording.Line(it.Why, lineRunes), At: it.EndedAt, Command: command("queue", "retry", it.ID),
		})
	}
	if d := p.runs[p.last]; d != nil && p.last != "" {
		for _, n := range d.needs {
			if n.Kind != NeedResume || now.Sub(n.At) < resumeFor {
				out = append(out, n)
			}
		}
	}
	return out
}

// gateNeed is a call of a run, or of a story of one, that is held.
func gateNeed(p *project, g approval.Gate) Need {
	n := Need{
		Ref: Ref{p.slug, g.RunID}, Repo: p.Path, Kind: NeedGate, ID: wording.Line(g.ID, lineRunes), Text: gateText(g), At: g.AskedAt, Until: g.ExpiresAt,
		Command: command("approve", g.ID),
	}
	if len(g.Rules) > 0 {
		n.Why = wording.Line(g.Rules[0].Rule+": "+g.Rules[0].Why, lineRunes)
	}
	if p.runs[g.RunID] == nil { // a story's, perhaps, which has a project of its own
		n.Ref.Run = ""
	}
	return n
}

// gateText is what a held call would do. What could hide a part of it is named instead of
// dropped: a person decides by this text.
func gateText(g approval.Gate) string {
	return wording.Text(spelled(strings.TrimSpace(g.Tool+": "+g.Subject)), textRunes)
}

// spelled writes out the characters of a text that show nothing or turn the direction.
func spelled(s string) string {
	var b strings.Builder
	for _, r := range s {
		if unicode.Is(unicode.Cf, r) || unicode.IsControl(r) && r != '\n' && r != '\t' {
			fmt.Fprintf(&b, "‹U+%04X›", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// endedNeeds are what a run that has ended waits for.
func endedNeeds(row Row, s supervisor.State, folder string) []Need {
	if row.Parent != "" || supervisor.NotResumable(s) != "" {
		return nil
	}
	n := Need{Ref: row.Ref, Repo: row.Repo, Kind: NeedResume, Text: row.Goal, At: row.Ended, Why: row.Cause, Command: command("resume", row.RunID)}
	if t := s.Record.Termination; t != nil {
		n.Why = wording.Text(t.Summary, textRunes)
	}
	if s.Record.Coordinates() {
		return append(asking(row, folder), n)
	}
	if g := s.Pursuit.Asked(); g != nil && g.Question != nil {
		n.Kind, n.Text, n.Why = NeedAnswer, wording.Text(g.Question.Text, textRunes), wording.Line(g.Text, lineRunes)
		n.Command = command("answer", "TEXT")
		n.Options = lettered(g.Question.Options)
		if !g.Question.At.IsZero() {
			n.At = g.Question.At
		}
	}
	return []Need{n}
}

// lettered are options with the letters that an answer may name.
func lettered(options []string) []string {
	var out []string
	for i, o := range options[:min(len(options), 26)] {
		out = append(out, string(rune('A'+i))+") "+wording.Line(o, lineRunes))
	}
	return out
}

// asking are the questions of the stories of a cohort.
func asking(row Row, folder string) []Need {
	var memo cohortMemo
	memo.read(folder)
	var out []Need
	for _, m := range memo.cohort.Members {
		if m.Status == story.Person && m.Answer == "" && len(out) < needsEach {
			id := wording.Line(m.ID, lineRunes)
			out = append(out, Need{
				Ref: row.Ref, Repo: row.Repo, Kind: NeedAnswer, ID: id, Text: wording.Text(m.Why, textRunes), Why: wording.Line(m.Title, lineRunes),
				At: m.EndedAt, Command: command("answer", id, "TEXT"),
			})
		}
	}
	return out
}
