package telemetry

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"autopilot/metrics/ledger"
)

// Bounds on what anybody could make long by writing into a ledger.
const (
	maxRepositories = 200
	maxNames        = 40 // of causes of a kind of runs, of endings and of reasons in one repository
	maxName         = 40 // bytes
	maxLabel        = 100
	perDollar       = 1e6
)

// other stands for what is counted together.
const other = "other"

// Tally counts the records of ledgers. The zero value is ready for use; it is not for use
// by several goroutines at once.
//
// A record is known again by its id, a run also by its beginning: ids of runs are unique in
// a repository only, and a ledger may be there in two copies. Eight bytes are kept of each.
type Tally struct {
	repos map[string]*count
	seen  map[uint64]struct{}
	order []string
}

type count struct {
	Repository

	micros int64
}

// Run counts a record of the run ledger of a repository, once. A dry run, and a record that
// does not say how its run ended, count as nothing.
func (t *Tally) Run(repository string, r ledger.Run) {
	began, over := time.Time(r.StartedAt), time.Time(r.CompletedAt)
	if r.AutopilotRunID == "" || r.DryRun || !hasEnded(r) || !t.first("run", r.AutopilotRunID, began.UnixMilli()) {
		return
	}
	c := t.of(repository)
	add(&c.Seconds, r.DurationSeconds)
	if c.First.IsZero() || !began.IsZero() && began.Before(c.First) {
		c.First = began
	}
	c.LastRun = later(c.LastRun, over)
	if asWanted(r) {
		c.LastSuccess = later(c.LastSuccess, over)
	}
	kind := kindOf(r)
	if kind != Cohort { // its sessions, and what they cost, are in the records of its stories
		sorted := ledger.Tokens{Input: max(0, r.Tokens.Input), Output: max(0, r.Tokens.Output), CacheCreation: max(0, r.Tokens.CacheCreation), CacheRead: max(0, r.Tokens.CacheRead)}
		add(&c.Tokens.Input, sorted.Input)
		add(&c.Tokens.Output, sorted.Output)
		add(&c.Tokens.CacheCreation, sorted.CacheCreation)
		add(&c.Tokens.CacheRead, sorted.CacheRead)
		if sorted == (ledger.Tokens{}) {
			add(&c.Unsorted, r.TotalTokensUsed)
		}
		add(&c.micros, micros(r.TotalCostUSD))
		add(&c.Waited, r.WaitedSeconds)
	}
	add(&c.Slept, r.SleptSeconds)
	if r.KillSwitch != nil && *r.KillSwitch != "" {
		countName(c.Switches, *r.KillSwitch)
	}
	if kind != Single {
		c.expect(kind)
	}
	countEnding(c.Ended, Ending{kind, causeOf(r)})
}

// Session counts a session of the session ledger of a repository by how it ended, once.
func (t *Tally) Session(repository, id, ending string) {
	if id != "" && t.first("session", id, 0) {
		countName(t.of(repository).Sessions, ending)
	}
}

// first reports whether a record was not counted yet, and notes that it is now.
func (t *Tally) first(what, id string, at int64) bool {
	h := fnv.New64a()
	_, _ = h.Write(fmt.Appendf(nil, "%s\x00%d\x00%s", what, at, id)) // a hash takes everything
	key := h.Sum64()
	if _, there := t.seen[key]; there {
		return false
	}
	if t.seen == nil {
		t.seen = map[uint64]struct{}{}
	}
	t.seen[key] = struct{}{}
	return true
}

// Know makes a repository known before anything of it is counted, so that its counters begin
// at zero.
func (t *Tally) Know(repository string) { t.of(repository) }

// Since is the beginning of the oldest run, or the zero time.
func (t *Tally) Since() time.Time {
	var since time.Time
	for _, c := range t.repos {
		if since.IsZero() || !c.First.IsZero() && c.First.Before(since) {
			since = c.First
		}
	}
	return since
}

// Repositories returns what was counted, in the order in which the repositories were first
// heard of. What is more than 200 of them is counted together under the name other.
func (t *Tally) Repositories() []Repository {
	var out []Repository
	var rest *count
	for _, name := range t.order {
		c := t.repos[name]
		if len(out) < maxRepositories-1 {
			out = append(out, c.repository())
			continue
		}
		if rest == nil {
			rest = newCount(other)
		}
		rest.merge(c)
	}
	if rest != nil {
		out = append(out, rest.repository())
	}
	return out
}

func (t *Tally) of(repository string) *count {
	if c, ok := t.repos[repository]; ok {
		return c
	}
	if t.repos == nil {
		t.repos = map[string]*count{}
	}
	c := newCount(repository)
	t.repos[repository] = c
	t.order = append(t.order, repository)
	return c
}

// newCount has a zero for each name that the program itself writes: the first kill-switch of
// a repository is to be seen as an increase, and not as a counter that appears at 1.
func newCount(name string) *count {
	c := &count{Repository: Repository{Name: name, Ended: map[Ending]int64{}, Sessions: map[string]int64{}, Switches: map[string]int64{}}}
	c.expect(Single)
	for _, reason := range Reasons() {
		c.Switches[reason] = 0
	}
	for _, ending := range SessionEndings() {
		c.Sessions[ending] = 0
	}
	return c
}

// expect makes the counters of a kind of runs begin at zero.
func (c *count) expect(kind Kind) {
	for _, cause := range slices.Concat(Reasons(), Causes()) {
		addTo(c.Ended, Ending{kind, cause}, 0)
	}
}

// Reasons are the kill-switches.
func Reasons() []string {
	return []string{
		"user-abort", "max-sessions-reached", "max-hours-exceeded", "token-budget-exceeded", "resource-overload", "low-confidence-fallback", "stall-timeout", "spiral", "failed-wave", "carryover-too-high",
	}
}

// Causes are the causes for which a run ends beside the kill-switches.
func Causes() []string {
	return []string{"work-done", "needs-person", "manual-fallback", "given-up", "no-tasks", "failed-tasks", "no-progress", "killed", "error"}
}

// SessionEndings are the ways in which a session ends.
func SessionEndings() []string {
	return []string{"completed", "failed", "limited", "overloaded", "auth", "credit", "cancelled", "hung", "crashed", "no-work"}
}

// repository is a copy of the count.
func (c *count) repository() Repository {
	r := c.Repository
	r.CostUSD = float64(c.micros) / perDollar
	r.Ended, r.Sessions, r.Switches = maps.Clone(c.Ended), maps.Clone(c.Sessions), maps.Clone(c.Switches)
	return r
}

func (c *count) merge(d *count) {
	for e, n := range d.Ended {
		addTo(c.Ended, Ending{e.Kind, other}, n)
	}
	for _, n := range d.Sessions {
		addTo(c.Sessions, other, n)
	}
	for _, n := range d.Switches {
		addTo(c.Switches, other, n)
	}
	for _, p := range []struct {
		to   *int64
		from int64
	}{
		{&c.Tokens.Input, d.Tokens.Input},
		{&c.Tokens.Output, d.Tokens.Output},
		{&c.Tokens.CacheCreation, d.Tokens.CacheCreation},
		{&c.Tokens.CacheRead, d.Tokens.CacheRead},
		{&c.Unsorted, d.Unsorted},
		{&c.micros, d.micros},
		{&c.Waited, d.Waited},
		{&c.Slept, d.Slept},
		{&c.Seconds, d.Seconds},
	} {
		add(p.to, p.from)
	}
	if c.First.IsZero() || !d.First.IsZero() && d.First.Before(c.First) {
		c.First = d.First
	}
	c.LastRun, c.LastSuccess = later(c.LastRun, d.LastRun), later(c.LastSuccess, d.LastSuccess)
}

// hasEnded reports whether a record says how its run ended.
func hasEnded(r ledger.Run) bool {
	return r.Termination != nil || r.ExitCause != "" || r.KillSwitch != nil || !time.Time(r.CompletedAt).IsZero()
}

// asWanted reports whether a run ended as wanted. Records of other programs have no exit
// code.
func asWanted(r ledger.Run) bool {
	return r.ExitCode == 0 && !r.AbortedByCohort && (r.ExitCause != "" || r.KillSwitch == nil)
}

func kindOf(r ledger.Run) Kind {
	switch {
	case r.Coordinates():
		return Cohort
	case r.ParentRunID != nil && *r.ParentRunID != "":
		return Story
	}
	return Single
}

// causeOf is why a run ended, in the words of its record.
func causeOf(r ledger.Run) string {
	kill := ""
	if r.KillSwitch != nil {
		kill = *r.KillSwitch
	}
	return cmp.Or(r.ExitCause, kill, "unknown")
}

// countName counts under a name, and under another one when there are too many of them:
// the names that came first keep theirs, so that no counter goes down later.
func countName(m map[string]int64, name string) {
	name = plainName(name)
	if _, there := m[name]; !there && len(m) >= maxNames {
		name = other
	}
	addTo(m, name, 1)
}

func countEnding(m map[Ending]int64, e Ending) {
	e.Cause = plainName(e.Cause)
	of := 0
	for have := range m {
		if have.Kind == e.Kind {
			of++
		}
	}
	if _, there := m[e]; !there && of >= maxNames {
		e.Cause = other
	}
	addTo(m, e, 1)
}

// plainName is a name as the program itself writes them: lower case, digits and minus.
func plainName(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s[:min(len(s), maxName)]), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return cmp.Or(strings.Join(words, "-"), "unknown")
}

// most is the largest count: whole numbers up to it are exact as floating point.
const most = 1 << 53

// add adds what is not negative and stops at the largest count.
func add(to *int64, n int64) { *to = min(*to+min(max(n, 0), most), most) }

func addTo[K comparable](m map[K]int64, k K, n int64) {
	sum := m[k]
	add(&sum, n)
	m[k] = sum
}

// micros is an amount in millionths, so that sums do not depend on their order.
func micros(v float64) int64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 0
	}
	return int64(min(math.Round(v*perDollar), most))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// sortedKeys are the keys of a map in order.
func sortedKeys[K comparable, V any](m map[K]V, less func(a, b K) int) []K {
	out := make([]K, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, less)
	return out
}
