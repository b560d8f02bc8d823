package verify

import (
	"fmt"
	"strings"
)

// Verdict is what is to be said of a commit.
type Verdict string

// Verdicts.
const (
	Holds  Verdict = "ok"
	Broken Verdict = "broken" // a rule is broken, or a model says no
	Other  Verdict = "other"  // it is no commit of a task
)

// Report is what was found about some commits.
type Report struct {
	OK      bool     `json:"ok"` // none is broken
	Commits []Commit `json:"commits"`
}

// Commit is what was found about one.
type Commit struct {
	SHA      string    `json:"sha"`
	Subject  string    `json:"subject"`
	Verdict  Verdict   `json:"verdict"`
	Claim    *Claim    `json:"claim,omitempty"` // nil for Other
	Findings []Finding `json:"findings,omitempty"`
	Opinion  *Opinion  `json:"opinion,omitempty"`
	// Unanswered says why a model that was asked for its opinion has given none.
	Unanswered string `json:"unanswered,omitempty"`
}

// Unanswered is how many commits a model was asked about and gave no opinion.
func (r Report) Unanswered() int {
	n := 0
	for _, c := range r.Commits {
		if c.Unanswered != "" {
			n++
		}
	}
	return n
}

// Text is a line for each commit, with what is wrong or could not be looked at; the
// opinion of a model stands below it.
func (r Report) Text() string {
	var b strings.Builder
	for _, c := range r.Commits {
		fmt.Fprintf(&b, "%-6s  %.10s  ", c.Verdict, c.SHA)
		if c.Claim != nil && c.Claim.TaskID != "" {
			fmt.Fprintf(&b, "%s %s", line(c.Claim.TaskID), line(c.Claim.Summary))
		} else {
			b.WriteString(line(c.Subject))
		}
		b.WriteString(c.found() + "\n")
		switch o := c.Opinion; {
		case c.Unanswered != "":
			fmt.Fprintf(&b, "        no opinion: %s\n", c.Unanswered)
		case o != nil:
			fmt.Fprintf(&b, "        %s says %s: %s", o.By, o.Aligned, line(o.Reasoning))
			if len(o.Missing) > 0 {
				fmt.Fprintf(&b, "; missing: %s", strings.Join(o.Missing, "; "))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// found is what is wrong, or else what could not be looked at.
func (c Commit) found() string {
	var wrong, unseen []string
	for _, f := range c.Findings {
		switch {
		case !f.OK:
			wrong = append(wrong, line(string(f.Rule)+": "+f.Detail))
		case f.Detail != "":
			unseen = append(unseen, line(f.Detail))
		}
	}
	switch {
	case c.Verdict == Other:
		return ": " + ErrNoClaim.Error()
	case len(wrong) > 0:
		return ": " + strings.Join(wrong, "; ")
	case len(unseen) > 0:
		return " (" + strings.Join(unseen, "; ") + ")"
	}
	return ""
}
