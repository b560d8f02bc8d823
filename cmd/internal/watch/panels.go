package watch

import (
	"fmt"
	"strings"
	"time"

	"autopilot/cmd/internal/board"
	"autopilot/metrics/report/wording"
)

// sessionLines are the sessions of the run, the latest last.
func (m model) sessionLines() []string {
	p := m.pen()
	var lines []string
	if len(m.run.Sessions) == 0 && m.run.Current == nil {
		return []string{p.text(dim, "  no session yet")}
	}
	all := m.run.Sessions
	if m.run.Current != nil {
		now := *m.run.Current
		now.Ending = "runs"
		all = append(all[:len(all):len(all)], now)
	}
	lines = append(lines, p.text(dim, m.sessionLine(nil)))
	for i := range all {
		lines = append(lines, m.sessionLine(&all[i]))
	}
	return lines
}

// sessionLine is a session, or the names of the columns for none.
func (m model) sessionLine(s *board.Session) string {
	p := m.pen()
	var b strings.Builder
	used := 0
	cell := func(from, width int, right bool, name string, st style, text func() string) {
		if m.width < from {
			return
		}
		word := name
		if s != nil {
			word = text()
		}
		if used > 0 {
			b.WriteString(" ")
			used++
		}
		if width == 0 {
			width = m.width - used
		}
		used += width
		if right {
			word = p.right(word, width)
		} else {
			word = p.fill(word, width)
		}
		if s == nil {
			st = plain
		}
		b.WriteString(p.text(st, word))
	}
	ending := plain
	tier := plain
	if s != nil {
		ending, tier = endingStyle(s.Ending), tierStyle(s.Tier)
	}
	cell(0, 4, true, "#", plain, func() string { return fmt.Sprint(s.Number) })
	cell(0, 12, false, "ENDING", ending, func() string { return s.Ending })
	cell(50, 8, false, "MODE", plain, func() string { return dashed(s.Mode) })
	cell(70, 11, false, "TIER/CAP", tier, func() string { return tierCap(s.Tier, s.Cap) })
	cell(0, 6, true, "TOKENS", plain, func() string { return wording.Short(float64(s.Tokens)) })
	cell(0, 7, true, "COST", plain, func() string { return wording.Dollars(s.CostUSD) })
	cell(60, 6, true, "TOOK", plain, func() string { return m.took(*s) })
	cell(90, 5, true, "FILES", plain, func() string { return fmt.Sprint(s.Files) })
	cell(90, 7, true, "COMMITS", plain, func() string { return fmt.Sprint(s.Commits) })
	cell(130, 14, false, "MODEL", plain, func() string { return dashed(s.Model) })
	cell(80, 0, false, "", dim, func() string { return joined(joined(s.Work, s.Cause), s.Summary) })
	return b.String()
}

func dashed(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func (m model) took(s board.Session) string {
	switch {
	case s.Started.IsZero():
		return "-"
	case !s.Ended.IsZero():
		return since(s.Ended.Sub(s.Started))
	}
	return since(m.now.Sub(s.Started))
}

func endingStyle(ending string) style {
	switch ending {
	case "completed":
		return green
	case "runs":
		return cyan
	}
	return yellow
}

// progressLines are goals, milestones and plots.
func (m model) progressLines() []string {
	p, r := m.pen(), m.run
	var lines []string
	for i, g := range r.Goals {
		lines = append(lines, m.label(fmt.Sprintf("goal %d", i+1), fmt.Sprintf("%s, %s: %s", g.Status, wording.Percent(g.Percent), g.Text)))
	}
	for _, s := range r.Progress.Milestones {
		mark, st := "[ ] ", plain
		if s.Done {
			mark, st = "[x] ", green
		}
		lines = append(lines, p.text(dim, p.fill("milestone", labelled))+p.text(st, p.cut(mark+s.Text, m.width-labelled)))
	}
	if r.Progress.Last != "" {
		for i, l := range p.wrapped(r.Progress.Last, m.width-labelled, 4) {
			lines = append(lines, m.label([]string{"last look", "", "", ""}[i], l))
		}
	}
	var percent, tokens, cost, memory []float64
	for _, pt := range r.Progress.Points {
		percent = append(percent, pt.Percent)
	}
	for _, s := range r.Sessions {
		tokens, cost = append(tokens, float64(s.Tokens)), append(cost, s.CostUSD)
	}
	tiers := make([]string, 0, len(r.Samples))
	for _, s := range r.Samples {
		tiers = append(tiers, s.Tier)
		if s.AvailableGB != nil {
			memory = append(memory, *s.AvailableGB)
		}
	}
	plot := func(name string, values []float64, top float64, word func(float64) string) {
		if len(values) == 0 {
			return
		}
		bottom, most := bounds(values)
		said := word(values[len(values)-1])
		if most > values[len(values)-1] {
			said += ", most " + word(most)
		}
		w := m.width - labelled - 20
		lines = append(lines, p.text(dim, p.fill(name, labelled))+p.text(cyan, p.fill(p.spark(values, w, bottom, max(most, top)), max(0, min(w, len(values)))))+
			p.cut("  "+said, 20))
	}
	plot("percent", percent, 100, wording.Percent)
	plot("tokens", tokens, 0, wording.Short)
	plot("cost", cost, 0, wording.Dollars)
	plot("RAM free", memory, 0, func(v float64) string { return fmt.Sprintf("%.1f GB", v) })
	if len(tiers) > 0 {
		lines = append(lines, p.text(dim, p.fill("tier", labelled))+m.tiers(tiers, m.width-labelled))
	}
	for _, c := range r.Caps[max(0, len(r.Caps)-8):] {
		lines = append(lines, m.label("cap", fmt.Sprintf("%s  %s/%d  %s", c.At.In(m.o.Zone).Format("15:04"), c.Tier, c.Cap, c.Signal)))
	}
	if len(lines) == 0 {
		return []string{p.text(dim, "  nothing is known of its progress yet")}
	}
	return lines
}

// tiers draws the tiers of the machine, a letter each, the worst of those that share one.
func (m model) tiers(all []string, w int) string {
	p := m.pen()
	rank := map[string]int{"green": 1, "warn": 2, "degraded": 3, "critical": 4}
	letters := []string{"?", "g", "w", "D", "C"}
	n := min(len(all), w)
	var b strings.Builder
	for i := range n {
		worst := 0
		for _, t := range all[i*len(all)/n : (i+1)*len(all)/n] {
			worst = max(worst, rank[t])
		}
		b.WriteString(p.text([]style{plain, green, yellow, red, red}[worst], letters[worst]))
	}
	return b.String()
}

// eventLines are the last events, in at most n lines.
func (m model) eventLines(n int) []string {
	p := m.pen()
	if len(m.events) == 0 {
		return []string{p.text(dim, "  nothing has happened yet")}
	}
	var lines []string
	for _, e := range m.events[max(0, len(m.events)-n):] {
		when := "        "
		if !e.At.IsZero() {
			when = e.At.In(m.o.Zone).Format(time.TimeOnly)
		}
		head, st := e.Kind, eventStyle(e)
		if e.Kind == "log" && e.Level != "" {
			head = strings.ToLower(e.Level)
		}
		room := m.width - 16
		most := 1
		if e.Kind == "text" || e.Kind == "prompt" {
			most = 3
		}
		for i, l := range p.wrapped(strings.TrimSpace(e.Text), room, most) {
			if i == 0 {
				lines = append(lines, p.text(dim, when+" ")+p.text(st, p.fill(head, 6))+" "+p.text(st, l))
			} else {
				lines = append(lines, strings.Repeat(" ", 16)+p.text(st, l))
			}
		}
	}
	return lines
}

func eventStyle(e board.Event) style {
	switch e.Kind {
	case "error":
		return red
	case "tool":
		return cyan
	case "result":
		return dim
	case "log":
		switch e.Level {
		case "WARN":
			return yellow
		case "ERROR":
			return red
		}
		return dim
	}
	return plain
}
