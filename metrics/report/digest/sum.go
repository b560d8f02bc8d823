package digest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/metrics/report"
	"autopilot/metrics/report/plot"
	"autopilot/metrics/report/wording"
	"autopilot/metrics/stats"
)

// Bounds of what is shown, in runes and in pieces. Together they keep a page under a
// megabyte, and JSON under one and a half, whatever it is made from.
const (
	maxName  = 80
	maxShort = 160
	maxLong  = 500

	maxRows    = 100
	maxSome    = 60
	maxFew     = 40
	maxDetails = 20
	maxNeeds   = 25 // in the lead; the table has more of them
	maxReasons = 10
	maxEach    = 5
)

const completed = "completed"

// writer turns facts into words.
type writer struct {
	Facts

	zone  *time.Location
	runs  []counted
	total totals
	days  []day // in order
}

// counted is a run with its sums.
type counted struct {
	Run

	number       int // in the digest, from 1
	class, words string
	cause        string
	sessions     int
	completed    int
	files        int
	commits      int
	goals        int
	goalsDone    int
	pieces       int
	piecesDone   int
	tokens       int64
	cost         float64
	seconds      float64
	percent      *float64 // at its end
	velocity     *float64
	coordinates  bool
}

// totals are sums over all runs.
type totals struct {
	runs, sessions, completed int
	files, commits            int
	tokens                    int64
	kinds                     ledger.Tokens
	cost, seconds             float64
	waited, slept             int64
	goals, goalsDone          int64
	falseStops                int64
	pieces, piecesDone        int
	tasks, tasksDone          int
	checks, checksHold        int
	tested, green             int // runs that ran tests, and those where they were green at the end
	classes                   map[string]int
	causes                    map[string]int
}

// day is what the runs that ended on it have taken.
type day struct {
	name           string
	runs, sessions int
	tokens         int64
	cost           float64
}

func newWriter(f Facts) writer {
	w := writer{Facts: f, zone: f.Zone}
	if w.zone == nil {
		w.zone = time.UTC
	}
	w.total.classes, w.total.causes = map[string]int{}, map[string]int{}
	seen := map[string]bool{}
	var all stats.Collector
	for i, r := range f.Runs {
		c := count(r, i+1, seen)
		w.runs = append(w.runs, c)
		w.add(c)
		all.Add(r.Record)
	}
	m := all.Metrics()
	w.total.goals, w.total.goalsDone, w.total.falseStops = m.Goals, m.GoalsAchieved, m.FalseStops
	slices.SortFunc(w.days, func(a, b day) int { return cmp.Compare(a.name, b.name) })
	return w
}

// count sums up one run. Sessions that were seen in another are not counted again.
func count(r Run, number int, seen map[string]bool) counted {
	rec := r.Record
	c := counted{Run: r, number: number, cause: cmp.Or(name(rec.ExitCause), "not known"), coordinates: rec.Coordinates()}
	if rec.KillSwitch != nil && *rec.KillSwitch != "" {
		c.cause = name(*rec.KillSwitch)
	}
	c.class, c.words = report.State(rec, false)
	c.Sessions = nil
	for _, s := range r.Sessions {
		if s.ID != "" && seen[s.ID] {
			continue
		}
		seen[s.ID] = true
		c.Sessions = append(c.Sessions, s)
		c.files += wording.Bounded(max(s.FileCount, len(s.Files)))
		c.commits += len(s.Commits)
		if s.Ending == completed {
			c.completed++
		}
	}
	c.sessions = len(c.Sessions)
	if !c.coordinates {
		c.sessions = max(c.sessions, len(rec.Sessions), wording.Bounded(rec.IterationsCompleted))
		c.completed = min(max(c.completed, wording.Bounded(rec.IterationsCompleted)), c.sessions)
		c.tokens, c.cost = min(max(rec.TotalTokensUsed, 0), mostTokens), wording.Amount(rec.TotalCostUSD)
	}
	for _, g := range rec.Goals {
		c.goals++
		if g.Status == ledger.GoalAchieved {
			c.goalsDone++
		}
	}
	for _, it := range r.Items {
		c.pieces++
		if it.Status == report.ItemDone {
			c.piecesDone++
		}
	}
	c.seconds = elapsed(rec)
	looks := looksOf(r.Progress)
	for i := len(looks) - 1; i >= 0 && c.percent == nil; i-- {
		c.percent = report.Between(&looks[i].Percent, 100)
	}
	if v, ok := plot.Velocity(looks); ok {
		c.velocity = &v
	}
	return c
}

const mostTokens = 1 << 50

func looksOf(points []report.Point) []plot.Look {
	var out []plot.Look
	for _, p := range points {
		out = append(out, plot.Look{Session: wording.Bounded(p.Session), Percent: p.Percent})
	}
	return out
}

// elapsed is the wall clock of a run, in seconds.
func elapsed(r ledger.Run) float64 {
	if r.DurationSeconds > 0 {
		return wording.Amount(float64(r.DurationSeconds))
	}
	from, to := time.Time(r.StartedAt), time.Time(r.CompletedAt)
	if from.IsZero() || !to.After(from) {
		return 0
	}
	return wording.Amount(to.Sub(from).Seconds())
}

// add adds a run to the sums.
func (w *writer) add(c counted) {
	t, rec := &w.total, c.Record
	t.runs++
	t.sessions += c.sessions
	t.completed += c.completed
	t.files, t.commits = t.files+c.files, t.commits+c.commits
	t.pieces, t.piecesDone = t.pieces+c.pieces, t.piecesDone+c.piecesDone
	t.tasks, t.tasksDone = t.tasks+wording.Bounded(c.Tasks), t.tasksDone+min(wording.Bounded(c.TasksDone), wording.Bounded(c.Tasks))
	t.tokens = min(t.tokens+c.tokens, mostTokens)
	t.cost = wording.Amount(t.cost + c.cost)
	t.classes[c.class]++
	t.causes[c.cause]++
	if !c.coordinates {
		t.seconds = wording.Amount(t.seconds + c.seconds)
		t.waited = min(t.waited+max(rec.WaitedSeconds, 0), mostTokens)
		t.slept = min(t.slept+max(rec.SleptSeconds, 0), mostTokens)
		k := rec.Tokens
		t.kinds = ledger.Tokens{Input: most(t.kinds.Input, k.Input), Output: most(t.kinds.Output, k.Output), CacheCreation: most(t.kinds.CacheCreation, k.CacheCreation), CacheRead: most(t.kinds.CacheRead, k.CacheRead)}
	}
	if rec.Termination != nil {
		for _, d := range rec.Termination.Deliverables {
			t.checks++
			if d.OK {
				t.checksHold++
			}
		}
	}
	if n := len(c.Tests); n > 0 {
		t.tested++
		if !c.Tests[n-1].Red() {
			t.green++
		}
	}
	w.addDay(c)
}

// most adds a count that can be.
func most(sum, n int64) int64 { return min(sum+min(max(n, 0), mostTokens), mostTokens) }

func (w *writer) addDay(c counted) {
	at := time.Time(c.Record.CompletedAt)
	if !sane(at) {
		return
	}
	called := at.In(w.zone).Format(time.DateOnly)
	i := slices.IndexFunc(w.days, func(d day) bool { return d.name == called })
	if i < 0 {
		i = len(w.days)
		w.days = append(w.days, day{name: called})
	}
	d := &w.days[i]
	d.runs++
	d.sessions += c.sessions
	d.tokens = min(d.tokens+c.tokens, mostTokens)
	d.cost = wording.Amount(d.cost + c.cost)
}

// perDay is what a day has cost in the mean, over the days of the time that the digest is
// about; not known when that is shorter than a day.
func (w writer) perDay() (float64, bool) {
	days := w.Generated.Sub(w.Since).Hours() / 24
	if !sane(w.Since) || !sane(w.Generated) || days < 1 || w.total.runs == 0 {
		return 0, false
	}
	return w.total.cost / days, true
}

func sane(t time.Time) bool {
	return !t.IsZero() && t.UTC().Year() >= 1 && t.UTC().Year() < 9999
}

// byCount are names, the most frequent first.
func byCount(counts map[string]int) []string {
	var names []string
	for n := range counts {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	return names
}

// needs are in the order in which they are told.
func (w writer) needs() []Need {
	order := []string{Question, Gate, Item, Merge, Resume}
	list := slices.Clone(w.Needs)
	slices.SortStableFunc(list, func(a, b Need) int {
		return cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind))
	})
	return list
}

func name(s string) string  { return wording.Line(s, maxName) }
func short(s string) string { return wording.Line(s, maxShort) }
func long(s string) string  { return wording.Line(s, maxLong) }

// when writes a moment.
func (w writer) when(t time.Time) string {
	if !sane(t) {
		return wording.None
	}
	return t.In(w.zone).Format("2006-01-02 15:04")
}

// ofAll writes a text with its repository before it, where there are several.
func (w writer) ofAll(repository, text string) string {
	if w.Repository != "" || repository == "" {
		return text
	}
	return strings.TrimSpace(name(repository) + ": " + text)
}
