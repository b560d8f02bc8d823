package prompt

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ReportSchema is the JSON schema of the report that a goal session ends with.
const ReportSchema = `{"type":"object","additionalProperties":false,` +
	`"required":["planned","completed","carried_over","summary","next_steps","needs_person"],"properties":{` +
	`"planned":{"type":"array","items":{"type":"string"},"description":"What this session set out to do, one short item each."},` +
	`"completed":{"type":"array","items":{"type":"string"},"description":"Planned items that are done and checked."},` +
	`"carried_over":{"type":"array","items":{"type":"string"},"description":"Planned items that are not done."},` +
	`"summary":{"type":"string","description":"What changed, in a few sentences."},` +
	`"next_steps":{"type":"array","items":{"type":"string"},"description":"What is left towards the goal. Empty only when nothing is left."},` +
	`"needs_person":{"type":"string","description":"The question only a person can answer, or empty."}}}`

const (
	maxItems   = 50
	maxItem    = 300  // runes
	maxSummary = 2000 // runes
)

// Report is what a goal session says about itself.
type Report struct {
	Planned     []string `json:"planned"`
	Completed   []string `json:"completed"`
	CarriedOver []string `json:"carried_over"`
	Summary     string   `json:"summary"`
	NextSteps   []string `json:"next_steps"`
	NeedsPerson string   `json:"needs_person"`
}

// ParseReport reads a structured report. Long lists and texts are cut.
func ParseReport(data []byte) (Report, error) {
	var in *Report
	if err := json.Unmarshal(data, &in); err != nil {
		return Report{}, fmt.Errorf("read session report: %w", err)
	}
	if in == nil {
		return Report{}, errors.New("read session report: it is null")
	}
	r := *in
	r.Planned, r.Completed = items(r.Planned), items(r.Completed)
	r.CarriedOver, r.NextSteps = items(r.CarriedOver), items(r.NextSteps)
	r.Summary, r.NeedsPerson = Cut(strings.TrimSpace(r.Summary), maxSummary), Cut(strings.TrimSpace(r.NeedsPerson), maxSummary)
	return r, nil
}

// SaysDone reports whether the session claims that nothing is left to do.
func (r Report) SaysDone() bool {
	return r.NeedsPerson == "" && len(r.CarriedOver) == 0 && len(r.NextSteps) == 0 && len(r.Completed) > 0
}

func items(list []string) []string {
	out := make([]string, 0, min(len(list), maxItems))
	for _, s := range list {
		if s = strings.Join(strings.Fields(s), " "); s != "" && len(out) < maxItems {
			out = append(out, Cut(s, maxItem))
		}
	}
	return out
}

// Cut shortens a text to at most n runes, at least one, the last of which then is
// an ellipsis.
func Cut(s string, n int) string {
	n = max(n, 1)
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	for i := range s {
		if n--; n == 0 {
			return string([]rune(s[:i])) + "…" // what is not UTF-8 comes as U+FFFD
		}
	}
	return s
}
