package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"autopilot/cmd/internal/board"
	"autopilot/cmd/internal/outside"
	"autopilot/cmd/internal/serve/guard"
	"autopilot/cmd/internal/serve/page"
)

const (
	maxReason = 1000 // runes
	maxAnswer = 8000
)

// deed is something that a person wants done about a run.
type deed struct {
	ref  board.Ref
	done string // said when it was done and nothing else is told
	do   func(context.Context) (string, error)
}

var errChanged = errors.New("it has changed since the page was shown; look again")

// not is a deed that is not done.
func not(err error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return "", err }
}

func (s *Server) stop(w http.ResponseWriter, r *http.Request) {
	ref, now := refOf(r), r.PostFormValue("now") == "1"
	if _, ok := s.may(w, r, ref); !ok {
		return
	}
	d := deed{ref: ref, done: "It stops after its session.", do: func(ctx context.Context) (string, error) { return s.o.Actor.Stop(ctx, ref, now) }}
	if now {
		d.done = "Its session is ended now."
	}
	s.act(w, r, d)
}

func (s *Server) decide(w http.ResponseWriter, r *http.Request) {
	ref, because := refOf(r), strings.TrimSpace(r.PostFormValue("reason"))
	needs, ok := s.may(w, r, ref)
	if !ok {
		return
	}
	need, there := needed(needs, board.NeedGate, r)
	d := deed{ref: ref}
	switch decision := r.PostFormValue("decision"); {
	case !there:
		d.do = not(errChanged)
	case len([]rune(because)) > maxReason:
		d.do = not(tooLong("the reason", maxReason))
	case decision == "approve":
		d.done = "Call " + need.ID + " may be made once."
		d.do = func(ctx context.Context) (string, error) { return s.o.Actor.Approve(ctx, ref, need.ID) }
	case decision == "deny":
		d.done = "Call " + need.ID + " is denied."
		d.do = func(ctx context.Context) (string, error) { return s.o.Actor.Deny(ctx, ref, need.ID, because) }
	default:
		d.do = not(errors.New("approve or deny is wanted"))
	}
	s.act(w, r, d)
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	ref := refOf(r)
	needs, ok := s.may(w, r, ref)
	if !ok {
		return
	}
	d := deed{ref: ref, done: "The answer is given; the run goes on."}
	need, there := needed(needs, board.NeedAnswer, r)
	words, err := answered(need, r)
	switch {
	case !there:
		d.do = not(errChanged)
	case err != nil:
		d.do = not(err)
	default: // the id of a question is that of the story that asks
		d.do = func(ctx context.Context) (string, error) { return s.o.Actor.Answer(ctx, ref, need.ID, words) }
	}
	s.act(w, r, d)
}

// answered is the answer in a form: an option, words, or both.
func answered(n board.Need, r *http.Request) (string, error) {
	words, option := strings.TrimSpace(r.PostFormValue("text")), ""
	if o := r.PostFormValue("option"); o != "" {
		i, err := strconv.Atoi(o)
		if err != nil || i < 0 || i >= len(n.Options) {
			return "", errChanged
		}
		option = n.Options[i]
	}
	switch {
	case len([]rune(words)) > maxAnswer:
		return "", tooLong("the answer", maxAnswer)
	case option != "" && words != "":
		return option + "\n" + words, nil
	case option == "" && words == "":
		return "", errors.New("choose an option or write an answer")
	}
	return option + words, nil
}

func tooLong(what string, most int) error {
	return fmt.Errorf("%s is longer than %d characters", what, most)
}

// needed is the need that a form answers, if it is still the one that was shown.
func needed(needs []board.Need, kind board.NeedKind, r *http.Request) (board.Need, bool) {
	program := guard.Of(r).Program
	for _, n := range needs {
		if n.Kind == kind && n.ID == r.PostFormValue("id") && (page.Print(n) == r.PostFormValue("print") || program && r.PostFormValue("print") == "") {
			return n, true
		}
	}
	return board.Need{}, false
}

// may are the needs of a run as it is now, or of a project when no run is named, when
// something may be done about them. It has answered otherwise.
func (s *Server) may(w http.ResponseWriter, r *http.Request, ref board.Ref) ([]board.Need, bool) {
	if s.o.Actor == nil {
		refuse(w, r, http.StatusForbidden, "This page only shows.")
		return nil, false
	}
	if id := s.inside(r); id == nobody {
		s.o.Log.Warn("refused what nobody can be told to have asked for", "path", r.URL.Path)
		refuse(w, r, http.StatusForbidden, "It cannot be told which process asks for this, and a session of a run must not.")
		return nil, false
	} else if id != "" {
		s.o.Log.Warn("refused what a session asked for", "run", id, "path", r.URL.Path)
		refuse(w, r, http.StatusForbidden, "This is for a person, and the request comes from a session of a run.")
		return nil, false
	}
	s.looks.forget(ref)
	if ref.Run == "" {
		return page.Unowned(s.looks.look(r.Context()), ref.Project), true
	}
	run, ok := s.found(w, r, ref)
	return run.Needs, ok
}

// nobody is the run of a caller that hides, which no run is called.
const nobody = "?"

// inside is the run that a request comes from, or nobody when that should be known here and
// is not. Whoever hangs up meanwhile is judged all the same.
func (s *Server) inside(r *http.Request) string {
	if s.o.Inside == nil {
		return ""
	}
	ctx := context.WithoutCancel(r.Context())
	switch pid := caller(r); {
	case pid > 0:
		return s.o.Inside(ctx, pid)
	case pid == gone, pid == hidden && (s.o.Hidden == nil || s.o.Hidden(ctx)):
		return nobody
	}
	return "" // a system that does not tell, or a tunnel of another user's
}

// act does it, and leads back to the page of the run, which says what came of it.
func (s *Server) act(w http.ResponseWriter, r *http.Request, d deed) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), acting)
	defer cancel()
	words, err := d.do(ctx)
	s.looks.forget(d.ref)
	if words == "" {
		words = d.done
	}
	if err != nil {
		words = "Not done: " + err.Error() + "."
		if h := outside.HintOf(err); h != "" {
			words += " " + h
		}
	}
	s.o.Log.Info("asked for on the page", "path", r.URL.Path, "done", err == nil, "outcome", words)
	who := guard.Of(r)
	if who.Program {
		status := http.StatusOK
		if err != nil {
			status = http.StatusConflict
		}
		sendJSON(w, status, map[string]any{"done": err == nil, "words": words})
		return
	}
	who.Tell(words, err != nil)
	back := page.RunPath(d.ref)
	if d.ref.Run == "" {
		back = page.ProjectPath(d.ref.Project)
	}
	http.Redirect(w, r, back, http.StatusSeeOther)
}
