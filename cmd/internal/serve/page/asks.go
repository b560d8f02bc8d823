package page

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"
	"time"

	"autopilot/cmd/internal/board"
)

// maxID is how many characters the id of a need has at most.
const maxID = 256

// asksModel is what waits for a person.
type asksModel struct {
	Asks []ask
	None string
}

// ask is one thing that waits.
type ask struct {
	Title   string
	Who     string // run
	Href    string // where it is answered; empty on that page
	Text    string
	Cut     bool // there is more of the text
	Why     string
	Asked   string
	Until   string // for a machine
	Clock   string
	Command string
	Options []string
	Path    string // of the forms; empty when nothing can be done from the page
	Kind    board.NeedKind
	ID      string
	Print   string
	Form    string
}

// Print tells one need from another: an answer holds for what the person has seen, and not
// for what came after it.
func Print(n board.Need) string {
	sum := sha256.Sum256([]byte(string(n.Kind) + "\x00" + n.ID + "\x00" + n.Text + "\x00" + strings.Join(n.Options, "\x00")))
	return hex.EncodeToString(sum[:12])
}

// asks lists what waits, for the overview: it is answered on the page of the run, where
// all that one should know before stands beside it.
func asks(needs []board.Need, v Viewer) asksModel {
	m := asksModel{None: "Nothing waits for you."}
	for _, n := range needs {
		a := asked(n, v, longText)
		a.Who = strings.TrimSpace(line(path.Base(cmp.Or(n.Repo, "-")), shortText) + " " + line(strings.TrimSuffix(n.Ref.Run, "-autopilot"), shortText))
		switch {
		case n.Ref.Run != "":
			a.Href = RunPath(n.Ref)
		case n.Ref.Project != "" && n.Kind == board.NeedGate:
			a.Href = ProjectPath(n.Ref.Project)
		}
		a.Options = nil
		m.Asks = append(m.Asks, a)
	}
	return m
}

// Unowned are the held calls of a project that belong to no run with a page of its own.
func Unowned(o board.Overview, project string) []board.Need {
	var out []board.Need
	for _, n := range o.Questions {
		if n.Kind == board.NeedGate && n.Ref == (board.Ref{Project: project}) {
			out = append(out, n)
		}
	}
	return out
}

// questions lists what waits in one run, with the forms to answer it.
func questions(needs []board.Need, base string, v Viewer) asksModel {
	m := asksModel{}
	for _, n := range needs {
		a := asked(n, v, heldText)
		if writes(n, v) {
			a.Path, a.Form = base, v.Form
		}
		m.Asks = append(m.Asks, a)
	}
	return m
}

// writes reports whether a need has a form that a person writes into. An id that cannot be
// shown as it is could be taken for another one.
func writes(n board.Need, v Viewer) bool {
	return !v.ReadOnly && line(n.ID, maxID) == n.ID && (n.Kind == board.NeedAnswer || n.Kind == board.NeedGate)
}

// filled reports whether a page has such a form, which loading it again would empty.
func filled(needs []board.Need, v Viewer) bool {
	return slices.ContainsFunc(needs, func(n board.Need) bool { return writes(n, v) })
}

func asked(n board.Need, v Viewer, most int) ask {
	a := ask{
		Title: titleOf(n.Kind), Text: text(n.Text, most), Why: line(n.Why, longText), Command: line(n.Command, longText),
		Kind: n.Kind, ID: n.ID, Print: Print(n),
	}
	a.Cut = strings.HasSuffix(a.Text, "…") // by us, or by who found it
	if !n.At.IsZero() {
		a.Asked = age(v.Now.Sub(n.At))
	}
	if !n.Until.IsZero() {
		a.Until, a.Clock = stamp(n.Until), clock(n.Until, v.Now)
		if n.Until.Sub(v.Now) > 48*time.Hour {
			a.Until = "" // no need to count seconds
		}
	}
	a.Options = n.Options
	return a
}

// Shown is an option as the page shows it.
func (a ask) Shown(option string) string { return line(option, longText) }

func titleOf(k board.NeedKind) string {
	switch k {
	case board.NeedAnswer:
		return "A question"
	case board.NeedGate:
		return "A call is held"
	case board.NeedRetry:
		return "Put aside"
	case board.NeedResume:
		return "Stopped half-way"
	}
	return line(string(k), shortText)
}

// Anchor is where a need stands in its page.
func (a ask) Anchor() string { return "need-" + a.Print }
