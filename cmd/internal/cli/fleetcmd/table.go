package fleetcmd

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"autopilot/cmd/internal/screen"
	"autopilot/supervisor/fleet"
)

const (
	narrowest = 80 // columns of a screen that the table is made for
	widest    = 200
	gap       = 2
	leastRun  = 22 // columns of an id, of a path and of a note below which they say little
	leastPath = 12
	leastNote = 30
	mostRun   = 44
	ellipsis  = "…"
	suffix    = "-autopilot" // of every run's id
)

// column is one column of the table.
type column struct {
	title string
	right bool // numbers
	cells []string
	width int
	last  int // order in which it is left out where there is no room, from 1; 0 never is
}

// Text is the table for a person, as wide as the screen at most, and below it what the rows
// add up to. Paths below home begin with ~. It has no colours.
func Text(rows []fleet.Row, home string, width int) string {
	if len(rows) == 0 {
		return "nothing runs on this machine\n"
	}
	width = min(max(width, narrowest), widest)
	inner := nested(rows)
	cols, notes := columns(rows, inner, home)
	left := fit(cols, width)
	if longest(notes) > 0 && left >= leastNote+gap {
		for i, n := range notes {
			notes[i] = cut(n, left-gap)
		}
		cols = append(cols, &column{title: "NOTE", cells: notes, width: longest(notes)})
		notes = nil
	}
	var b strings.Builder
	line(&b, cols, func(c *column) string { return c.title })
	for i := range rows {
		line(&b, cols, func(c *column) string { return c.cells[i] })
		if notes != nil && notes[i] != "" && rows[i].Kind != fleet.KindPeer {
			b.WriteString("      " + cut(notes[i], width-6) + "\n")
		}
	}
	return b.String() + sums(rows, inner)
}

// nested says of each row whether it stands below the one of its cohort.
func nested(rows []fleet.Row) []bool {
	inner := make([]bool, len(rows))
	above := ""
	for i, r := range rows {
		if inner[i] = r.Parent != "" && r.Parent == above; !inner[i] {
			above = r.RunID
		}
	}
	return inner
}

// columns makes the columns that have something in them, and the notes.
func columns(rows []fleet.Row, inner []bool, home string) (cols []*column, notes []string) {
	ids := shortened(rows)
	all := []*column{
		{title: "RUN"},
		{title: "STATE"},
		{title: "SESS", right: true},
		{title: "DONE", right: true, last: 3},
		{title: "TIER", last: 1},
		{title: "TOKENS", right: true},
		{title: "COST", right: true},
		{title: "AGE", right: true, last: 4},
		{title: "PID", right: true, last: 2},
		{title: "WHERE"},
	}
	for i, r := range rows {
		for k, cell := range []string{
			name(r, inner[i], ids[i]), label(r.State), count(r), percent(r), tier(r),
			tokens(r), cost(r), age(r), pid(r), where(r, home),
		} {
			all[k].cells = append(all[k].cells, plain(cell))
		}
		notes = append(notes, plain(r.Note))
	}
	for _, c := range all {
		if n := longest(c.cells); n > 0 || c.title == "RUN" {
			c.width = max(n, columnsOf(c.title))
			cols = append(cols, c)
		}
	}
	return cols, notes
}

// fit gives the columns their widths and takes out those that there is no room for: first
// the id and the path get what they need least, then the id what it needs, then the path.
// It returns what is left.
func fit(cols []*column, width int) (left int) {
	var run, path *column
	natural := map[*column]int{}
	for _, c := range cols {
		natural[c] = c.width
		switch c.title {
		case "RUN":
			run, natural[c], c.width = c, min(c.width, mostRun), min(c.width, leastRun)
		case "WHERE":
			path, c.width = c, min(c.width, leastPath)
		}
	}
	for drop := 1; total(cols) > width && drop <= len(cols); drop++ {
		for _, c := range cols {
			if c.last == drop {
				c.width = 0
			}
		}
	}
	left = width - total(cols)
	for _, c := range []*column{run, path} {
		if c == nil {
			continue
		}
		more := max(0, min(left, natural[c]-c.width))
		c.width, left = c.width+more, left-more
	}
	for i, cell := range run.cells {
		run.cells[i] = cut(cell, run.width)
	}
	if path != nil {
		for i, cell := range path.cells {
			path.cells[i] = cutLeft(cell, path.width)
		}
	}
	return left
}

// total is the width of a line.
func total(cols []*column) int {
	sum := -gap
	for _, c := range cols {
		if c.width > 0 {
			sum += c.width + gap
		}
	}
	return sum
}

func line(b *strings.Builder, cols []*column, cell func(*column) string) {
	var s strings.Builder
	for _, c := range cols {
		if c.width == 0 {
			continue
		}
		text := cell(c)
		pad := strings.Repeat(" ", max(0, c.width-columnsOf(text)))
		if c.right {
			text = pad + text
		} else {
			text += pad
		}
		s.WriteString(text + strings.Repeat(" ", gap))
	}
	b.WriteString(strings.TrimRight(s.String(), " ") + "\n")
}

// sums says what there is and what it has used. A cohort has used what its stories have.
func sums(rows []fleet.Row, inner []bool) string {
	n := map[fleet.Kind]int{}
	var used int64
	var dollars float64
	for i, r := range rows {
		n[r.Kind]++
		if !inner[i] {
			used, dollars = used+r.Tokens, dollars+r.CostUSD
		}
	}
	words := []string{number(n[fleet.KindRun], "run", "runs")}
	if n[fleet.KindCohort]+n[fleet.KindStory] > 0 {
		words = append(words, number(n[fleet.KindCohort], "cohort", "cohorts"), number(n[fleet.KindStory], "story", "stories"))
	}
	words = append(words, number(n[fleet.KindPeer], "peer", "peers"))
	return fmt.Sprintf("%s; %d tokens, $%.4f\n", strings.Join(words, ", "), used, dollars)
}

func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// shortened are the ids of the rows without what all of them end in, where that still names
// one alone: 'fleet stop' takes a beginning.
func shortened(rows []fleet.Row) []string {
	out := make([]string, len(rows))
	for i, r := range rows {
		out[i] = r.RunID
		short, ok := strings.CutSuffix(r.RunID, suffix)
		if !ok {
			continue
		}
		same := 0
		for _, other := range rows {
			if strings.HasPrefix(other.RunID, short) || strings.HasPrefix(other.Story, short) {
				same++
			}
		}
		if same == 1 {
			out[i] = short
		}
	}
	return out
}

func name(r fleet.Row, inner bool, id string) string {
	switch {
	case r.Kind == fleet.KindPeer:
		id = string(r.Kind)
	case r.Kind == fleet.KindStory:
		id = r.Story
	}
	if inner {
		return "  " + id
	}
	return id
}

// label is a state in few letters.
func label(s fleet.State) string {
	switch s {
	case fleet.StateWaiting:
		return "at a limit"
	case fleet.StatePerson:
		return "needs you"
	case fleet.StateLooking:
		return "looks back"
	case fleet.StateOpen:
		return "dead"
	}
	return string(s)
}

// unused reports whether there is nothing that a row could have used: a peer, of which that
// is not known, or a story that was not begun.
func unused(r fleet.Row) bool {
	return r.Kind == fleet.KindPeer || r.State == fleet.StateQueued && r.Iteration == 0
}

func count(r fleet.Row) string {
	switch {
	case unused(r):
		return ""
	case r.MaxSessions > 0:
		return fmt.Sprintf("%d/%d", r.Iteration, r.MaxSessions)
	}
	return fmt.Sprint(r.Iteration)
}

func percent(r fleet.Row) string {
	if r.Percent == nil {
		return ""
	}
	return fmt.Sprintf("%.0f%%", *r.Percent)
}

func tier(r fleet.Row) string {
	if r.Cap == nil {
		return r.Tier
	}
	return fmt.Sprintf("%s/%d", r.Tier, *r.Cap)
}

func tokens(r fleet.Row) string {
	switch n := float64(r.Tokens); {
	case unused(r):
		return ""
	case n < 1e3:
		return fmt.Sprint(r.Tokens)
	case n < 99_950:
		return fmt.Sprintf("%.1fk", n/1e3)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", n/1e3)
	case n < 99_950_000:
		return fmt.Sprintf("%.1fM", n/1e6)
	default:
		return fmt.Sprintf("%.0fM", n/1e6)
	}
}

func cost(r fleet.Row) string {
	switch {
	case unused(r):
		return ""
	case r.CostUSD < 999.995:
		return fmt.Sprintf("$%.2f", r.CostUSD)
	}
	return fmt.Sprintf("$%.0f", r.CostUSD)
}

func age(r fleet.Row) string {
	if r.Started.IsZero() {
		return ""
	}
	switch d := time.Duration(r.AgeSeconds) * time.Second; {
	case d < time.Minute:
		return fmt.Sprintf("%ds", r.AgeSeconds)
	case d < time.Hour:
		return fmt.Sprintf("%dm", r.AgeSeconds/60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", r.AgeSeconds/3600, r.AgeSeconds/60%60)
	default:
		return fmt.Sprintf("%dd%02dh", r.AgeSeconds/86400, r.AgeSeconds/3600%24)
	}
}

func pid(r fleet.Row) string {
	if r.PID == 0 {
		return ""
	}
	return fmt.Sprint(r.PID)
}

// where is the branch of a story, else its work tree, and the folder of everything else.
func where(r fleet.Row, home string) string {
	path := r.Repo
	switch {
	case r.Branch != "":
		return r.Branch
	case r.Kind == fleet.KindStory:
		path = r.Worktree
	}
	if below, ok := strings.CutPrefix(path, home+"/"); ok && len(home) > 1 {
		return "~/" + below
	}
	return path
}

// plain is a text on one line, without what could move the cursor.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
	return screen.Plain(strings.TrimRight(text, " "))
}

// cut takes from the end what does not fit into n columns.
func cut(text string, n int) string {
	if columnsOf(text) <= n {
		return text
	}
	used := 0
	for i, r := range text {
		if used += runeColumns(r); used > n-1 {
			return text[:i] + ellipsis
		}
	}
	return text
}

// cutLeft takes from the beginning what does not fit: the end of a path says more.
func cutLeft(text string, n int) string {
	over := columnsOf(text) - n
	if over <= 0 {
		return text
	}
	for i, r := range text {
		if over < 0 {
			return ellipsis + text[i:]
		}
		over -= runeColumns(r)
	}
	return ellipsis
}

func longest(cells []string) int {
	n := 0
	for _, c := range cells {
		n = max(n, columnsOf(c))
	}
	return n
}

func columnsOf(text string) int {
	n := 0
	for _, r := range text {
		n += runeColumns(r)
	}
	return n
}

// runeColumns is how many columns a terminal gives to a character: none to marks that
// combine with another, two to East Asian and pictorial ones. It knows the large blocks of
// Unicode's East Asian Width, not every character.
func runeColumns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff,
		r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}
