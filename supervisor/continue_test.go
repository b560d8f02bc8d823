package supervisor

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/ledger"
	"autopilot/reflector"
	"autopilot/sessions"
	"autopilot/sessions/outcome"
	"autopilot/sessions/prompt"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/source"
)

// TestConversationGoesOn is which conversation the first session of a continued run
// goes on with, and with which words.
func TestConversationGoesOn(t *testing.T) {
	t.Parallel()
	broken := func(e outcome.Ending) play { return ends(e, time.Minute) }
	unopened := func(p play) play { return p.with(func(r *sessions.Result) { r.Opened = false }) }
	stuck := says(reflector.No, reflector.Stuck, 10, reflector.Continue)
	stuck.says.LoopDetected = true
	tests := []struct {
		name    string
		last    play // of the first run
		opinion opinion
		answer  string
		here    bool   // the conversation is on this machine
		prompt  string // with which the conversation goes on; empty for a new one
	}{
		{"cancelled", broken(outcome.Cancelled), goesWell(), "", true, prompt.Interrupted("")},
		{"cancelled, with an answer", broken(outcome.Cancelled), goesWell(), "use make", true, prompt.Interrupted("use make")},
		{"crashed", broken(outcome.Crashed), goesWell(), "", true, prompt.Interrupted("")},
		{"hung", broken(outcome.Hung), goesWell(), "", true, prompt.Interrupted("")},
		{"limited", limitedFor(time.Minute, 9*time.Hour), goesWell(), "", true, prompt.Interrupted("")},
		{"failed", broken(outcome.Failed), goesWell(), "", true, ""},
		{"completed", work(time.Minute), goesWell(), "", true, ""},
		{"completed, with an answer", work(time.Minute), goesWell(), "use make", true, prompt.Answered("use make")},
		{"a question", asks("which one?"), goesWell(), "in a box", true, prompt.Answered("in a box")},
		{"stuck", work(time.Minute), stuck, "", true, ""},
		{"stuck, with an answer", work(time.Minute), stuck, "use make", true, prompt.Answered("use make")},
		{"not opened", unopened(broken(outcome.Crashed)), goesWell(), "", true, ""},
		{"not opened, with an answer", unopened(broken(outcome.Crashed)), goesWell(), "use make", true, ""},
		{"not here", broken(outcome.Crashed), goesWell(), "", false, ""},
		{"not here, with an answer", asks("which one?"), goesWell(), "in a box", false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, work(time.Minute), tt.last, work(time.Minute))
				if tt.last.result.Ending == outcome.Limited {
					w.plays[1] = limitedFor(time.Minute, 9*time.Hour)
				}
				w.looks(2, tt.opinion)
				w.opts.Source, w.opts.Limits.MaxSessions = source.Goal{}, 6
				w.stopsAfter(2)
				w.play(t.Context())
				var looked []string
				w.opts.HasConversation = func(id string) bool {
					looked = append(looked, id)
					return tt.here
				}
				w.stopsAfter(4)
				w.opts.Pursuit.Reflector.(*fakeReflector).opinions = []opinion{goesWell()}
				w.mustGoOn(tt.answer)
				if len(w.calls) != 4 {
					t.Fatalf("%d sessions, want two in each run", len(w.calls))
				}
				old, s := w.calls[1].spec, w.calls[2].spec
				if s.ContinuePrompt != tt.prompt || (s.ConversationID != "") != (tt.prompt != "") || (s.Continue != nil) != (tt.prompt != "") || s.ID == old.ID || s.Previous != nil {
					t.Errorf("it goes on with %q in %q as %+v, want %q", s.ContinuePrompt, s.ConversationID, s.Continue, tt.prompt)
				}
				if tt.prompt != "" && (s.ConversationID != old.ID || !s.Continue.Opened || s.Continue.NextStep != 0 || s.Continue.ID != s.ID) {
					t.Errorf("it goes on with %q as %+v, want the conversation %s", s.ConversationID, s.Continue, old.ID)
				}
				text := s.Steps[0].Prompt
				if tt.answer != "" && !strings.Contains(text, ": "+tt.answer+"\n") || strings.Contains(text, "A person was asked: which one?\n") != (tt.last.result.Report != nil && strings.Contains(string(tt.last.result.Report), "which one?")) {
					t.Errorf("a new conversation would be told %q", text)
				}
				if warned := strings.Contains(w.log.String(), "is not on this machine any more"); warned == tt.here || !tt.here && !slices.Equal(looked, []string{string(old.ID)}) {
					t.Errorf("warned: %v, looked for %q", warned, looked)
				}
				next := w.calls[3].spec
				if next.Continue != nil || next.ConversationID != "" || next.ContinuePrompt != "" || tt.answer != "" && strings.Contains(next.Steps[0].Prompt, tt.answer) {
					t.Errorf("the session after it is %+v", next)
				}
			})
		})
	}
}

// TestConversationThatCannotBeLookedFor is one of which nobody can say whether it is
// on this machine: it is.
func TestConversationThatCannotBeLookedFor(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, ends(outcome.Crashed, time.Minute), ends(outcome.Crashed, time.Minute), work(time.Minute))
		w.play(t.Context())
		w.mustGoOn("")
		w.mustGoOn("")
		first := w.calls[0].spec.ID
		for i, c := range w.calls[1:3] {
			if c.spec.ConversationID != first || c.spec.ContinuePrompt != prompt.Interrupted("") {
				t.Errorf("run %d goes on in %s, want %s, which the first one opened", i+2, c.spec.ConversationID, first)
			}
		}
	})
}

// TestErrorInAContinuedRun: only the first session goes on with a conversation that
// was cut short; what follows an error begins anew, as in any run.
func TestErrorInAContinuedRun(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, ends(outcome.Cancelled, time.Minute), ends(outcome.Crashed, time.Minute), work(time.Minute))
		w.opts.Limits.MaxErrors = 3
		w.play(t.Context())
		w.stopsAfter(3)
		w.mustGoOn("")
		if first, second := w.calls[1].spec, w.calls[2].spec; first.Continue == nil || second.Continue != nil || second.ConversationID != "" || second.Previous == nil {
			t.Errorf("the sessions go on as %+v and %+v, want the first alone to go on", first.Continue, second.Continue)
		}
	})
}

// TestAnswerOutlivesErrors: what a person said is told until a session has worked
// with it, also when the run breaks off and is continued once more.
func TestAnswerOutlivesErrors(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		unopened := ends(outcome.Crashed, time.Minute).with(func(r *sessions.Result) { r.Opened = false })
		w := newWorld(t, asks("which one?"), unopened, unopened, work(time.Minute), work(time.Minute))
		w.opts.Source, w.opts.HasConversation = source.Goal{}, func(string) bool { return false }
		w.play(t.Context())
		w.opts.Limits.MaxErrors = 2
		w.mustGoOn("in a box")
		w.stopsAfter(5)
		w.mustGoOn("")
		for i, c := range w.calls[1:] {
			p := c.spec.Steps[0].Prompt
			if told := strings.Contains(p, "which one?\nThe answer: in a box\n"); told != (i < 3) {
				t.Errorf("session %d was told %q, want the answer in it: %v", i+2, p, i < 3)
			}
		}
	})
}

// TestConversationOfAnotherGoal is over: an answer is not given to it.
func TestConversationOfAnotherGoal(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		last play
	}{{"which is achieved", claims(time.Minute)}, {"which crashed", ends(outcome.Crashed, time.Minute)}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, asks("which one?"), tt.last, work(time.Minute))
				w.opts.Goals = []pursuit.Goal{{Text: "the first"}, {Text: "the second"}}
				w.opts.Source = source.Goal{}
				w.play(t.Context())
				w.stopsAfter(3)
				w.mustGoOn("by hand")
				s := w.calls[2].spec
				if p := s.Steps[0].Prompt; s.Continue != nil || s.ConversationID != "" || !strings.Contains(p, "the first") || !strings.Contains(p, "A person was asked: which one?\nThe answer: by hand\n") {
					t.Errorf("it goes on in %q with %q, told %q", s.ConversationID, s.ContinuePrompt, p)
				}
			})
		})
	}
}

// TestLifecycleGoesOn at its next step.
func TestLifecycleGoesOn(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name         string
		next, steps  int
		wantNextStep int
	}{{"the first step", 0, 3, 0}, {"the second step", 1, 3, 1}, {"the last step", 2, 3, 2}, {"behind the last one", 3, 3, 2}, {"fewer steps by now", 2, 2, 1}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, ends(outcome.Cancelled, time.Minute).with(func(r *sessions.Result) { r.NextStep = tt.next }), work(time.Minute))
				w.opts.Source = fakeSource{"lifecycle", func(source.Request) source.Assignment {
					a := assignment("feature", 1)
					a.Records, a.Steps = true, slices.Repeat([]sessions.Step{{Prompt: "/go", AsArgument: true}}, tt.steps)
					return a
				}}
				w.play(t.Context())
				w.stopsAfter(2)
				w.mustGoOn("")
				s := w.calls[1].spec
				if s.Continue == nil || s.Continue.NextStep != tt.wantNextStep || s.ConversationID != w.calls[0].spec.ID || len(s.Steps) != tt.steps {
					t.Errorf("it goes on as %+v with %d steps, want step %d", s.Continue, len(s.Steps), tt.wantNextStep)
				}
			})
		})
	}
}

// TestLimitInAContinuedConversation: after the wait it goes on as after any other.
func TestLimitInAContinuedConversation(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, ends(outcome.Crashed, time.Minute), ends(outcome.Overloaded, time.Minute), work(time.Minute))
		w.play(t.Context())
		w.stopsAfter(3)
		rec := w.mustGoOn("")
		first, again := w.calls[1].spec, w.calls[2].spec
		if again.ID != first.ID || again.ConversationID != w.calls[0].spec.ID || again.Continue.Ending != outcome.Overloaded || again.ContinuePrompt != prompt.Resumed || len(rec.Sessions) != 1 {
			t.Errorf("it goes on as %+v in %s", again.Continue, again.ConversationID)
		}
		if s := w.state(); s.Last.Conversation != string(w.calls[0].spec.ID) {
			t.Errorf("the conversation is %s afterwards", s.Last.Conversation)
		}
	})
}

// TestRecoverContinuedSession is a session that went on with another's conversation
// and was killed before it had said anything: the conversation is not lost.
func TestRecoverContinuedSession(t *testing.T) {
	t.Parallel()
	for _, moment := range []string{"session begins", "session works", "session ended"} {
		t.Run(moment, func(t *testing.T) {
			t.Parallel()
			pictures := t.TempDir()
			bubble(t, func(t *testing.T) {
				w := newWorld(t, ends(outcome.Cancelled, time.Minute).with(func(r *sessions.Result) { r.NextStep = 1 }), ends(outcome.Crashed, time.Minute), work(time.Minute))
				w.opts.Source = fakeSource{"lifecycle", func(source.Request) source.Assignment {
					a := assignment("feature", 1)
					a.Steps = slices.Repeat(a.Steps, 3)
					return a
				}}
				w.play(t.Context())
				w.at = func(now string) {
					if now == moment && len(w.calls) == 2 {
						w.copyFiles(pictures)
					}
				}
				w.mustGoOn("")
				c := copied(t, w, pictures)
				c.killed()
				c.recover()
				first := string(w.calls[0].spec.ID)
				want := Last{Conversation: first, Iteration: 2, Ending: string(outcome.Crashed), Opened: true, Goal: 1}
				if moment == "session begins" {
					want.NextStep = 1
				}
				if diff := cmp.Diff(want, *c.state().Last); diff != "" {
					t.Errorf("the session that ended last (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestRecoverGoals: the facts of the session under way are counted once, for the
// goal it worked for, and the end of the run says so.
func TestRecoverGoals(t *testing.T) {
	t.Parallel()
	result := func(w *world, s sessions.Spec) {
		w.keep(sessions.ResultPath(s.Folder), sessions.Result{
			ID: s.ID, RunID: s.RunID, Ending: outcome.Completed, StartedAt: time.Now(), EndedAt: time.Now().Add(time.Minute), Worked: time.Minute, Opened: true,
			Files: []string{"a", "b"}, Commits: []string{"c"}, Usage: outcome.Usage{Input: 70, CostUSD: 0.5}, Tools: map[string]int{"Bash": 2}, Report: planned(2, 1),
		})
	}
	tests := []struct {
		name     string
		leave    func(*world, sessions.Spec)
		totals   reflector.Totals
		outcomes ledger.Outcomes
	}{
		{"cut off", nil, reflector.Totals{Sessions: 2, Successes: 1, Failures: 1, Tokens: 5, Tools: map[string]int{}}, ledger.Outcomes{Successes: 1, Failures: 1}},
		{"ended", result, reflector.Totals{Sessions: 2, Successes: 2, Tokens: 70, CostUSD: 0.5, Files: 2, Commits: 1, Elapsed: time.Minute, Tools: map[string]int{"Bash": 2}}, ledger.Outcomes{Successes: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				w := crashed(t, tt.leave)
				time.Sleep(time.Hour)
				for range 3 {
					w.recover()
				}
				s, rec := w.state(), w.record()
				g := s.Pursuit.Goals[0]
				if diff := cmp.Diff(tt.totals, g.Totals); diff != "" {
					t.Errorf("totals of the goal (-want +got):\n%s", diff)
				}
				if rec.Goals[0].Iterations != 2 || g.Since != 2 || len(g.Sessions) != 2 || s.Outcomes != tt.outcomes {
					t.Errorf("goals %+v in the record, %d sessions remembered, outcomes %+v", rec.Goals, len(g.Sessions), s.Outcomes)
				}
				tm := rec.Termination
				if tm.Status != ledger.Interrupted || tm.Reason != "killed" || tm.Guard != "" || !tm.Resumable || !tm.CheckpointSaved || tm.Iterations != 2 || tm.Outcomes != tt.outcomes || !strings.Contains(tm.Summary, "the supervisor was killed") {
					t.Errorf("termination %+v", tm)
				}
				if why := NotResumable(s); why != "" {
					t.Errorf("it cannot be continued: %s", why)
				}
			})
		})
	}
}

// TestRecoverKeepsTheEnd of a run that had come to its end: only its record was
// missing.
func TestRecoverKeepsTheEnd(t *testing.T) {
	t.Parallel()
	crash := ends(outcome.Crashed, time.Minute)
	for name, tt := range map[string]struct {
		plays []play
		want  string
	}{
		"too many errors": {[]play{crash}, "stopped error_threshold ERROR_THRESHOLD"},
		"done":            {[]play{claims(time.Minute)}, "completed goal_achieved"},
		"asks":            {[]play{asks("which one?")}, "paused question"},
	} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, tt.plays...)
			w.opts.Limits.MaxErrors = 2
			w.at = func(moment string) {
				if moment == "live finishing" {
					_ = w.ledgers.Close()
				}
			}
			if _, err := w.try(t.Context()); !errors.Is(err, os.ErrClosed) {
				t.Fatalf("%s: got %v", name, err)
			}
			want := w.state().Record.Termination
			w.reopen()
			w.killed()
			w.recover()
			rec := w.record()
			if got := w.finale(rec).status; got != tt.want {
				t.Errorf("%s: got %q, want %q", name, got, tt.want)
			}
			if diff := cmp.Diff(want, rec.Termination); diff != "" {
				t.Errorf("%s: termination (-want +got):\n%s", name, diff)
			}
		})
	}
}

// TestRecoverQuestion is a session that ended with a question and could not be
// recorded: the question is not lost.
func TestRecoverQuestion(t *testing.T) {
	t.Parallel()
	pictures := t.TempDir()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, asks("which one?"))
		w.at = func(moment string) {
			if moment == "session ended" {
				w.copyFiles(pictures)
			}
		}
		w.play(t.Context())
		c := copied(t, w, pictures)
		c.killed()
		c.recover()
		rec, s := c.record(), c.state()
		if tm := rec.Termination; tm.Question != "which one?" || !tm.AwaitingUserInput || tm.Status != ledger.Interrupted || rec.Goals[0].Status != ledger.GoalPaused {
			t.Errorf("termination %+v, goals %+v", tm, rec.Goals)
		}
		if diff := cmp.Diff(w.state().Pursuit, s.Pursuit); diff != "" {
			t.Errorf("goals without and with a crash (-without +with):\n%s", diff)
		}
		if err := TakeUp(&s, "", w.opts.Limits); err == nil || !strings.Contains(err.Error(), "waits for an answer: which one?") {
			t.Errorf("it is taken up without an answer: %v", err)
		}
	})
}

// TestRecoverUnrecorded is a session that could not be recorded when the run ended:
// the end of the run knows of it afterwards.
func TestRecoverUnrecorded(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		w := newWorld(t, work(time.Minute).doing(nil))
		w.plays[0].do = func(context.Context, sessions.Spec) {
			if len(w.calls) == 2 {
				_ = w.ledgers.Close()
			}
		}
		if _, err := w.try(t.Context()); err == nil {
			t.Fatal("the run ended without an error")
		}
		w.reopen()
		w.killed()
		w.recover()
		rec := w.record()
		if tm := rec.Termination; tm.Reason != "error" || tm.Iterations != 2 || tm.Outcomes != (ledger.Outcomes{Successes: 2}) || rec.Goals[0].Iterations != 2 || rec.ExitCause != string(CauseError) {
			t.Errorf("termination %+v, goals %+v", tm, rec.Goals)
		}
	})
}

// TestRuleAtLimit keeps the name of the rule the same on both sides.
func TestRuleAtLimit(t *testing.T) {
	t.Parallel()
	d := reflector.Decide(reflector.Assessment{GoalAchieved: reflector.Partial}, reflector.Context{AtLimit: true}, reflector.Extended)
	if d.Rule != ruleAtLimit || !d.Partial {
		t.Errorf("the rule of a goal that ends at the limit is %q, want %q", d.Rule, ruleAtLimit)
	}
}
