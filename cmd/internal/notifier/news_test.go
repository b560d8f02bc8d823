package notifier

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/metrics/ledger"
	"autopilot/supervisor"
	"autopilot/supervisor/killswitch"
	"autopilot/supervisor/notice"
	"autopilot/supervisor/pursuit"
	"autopilot/supervisor/track"
)

var moment = time.Date(2026, 1, 31, 22, 0, 0, 0, time.UTC)

// state is one of a run that is on; the changes make of it what a case needs.
func state(changes ...func(*supervisor.State)) supervisor.State {
	s := supervisor.State{UpdatedAt: moment, Iteration: 2, Record: ledger.Run{AutopilotRunID: "main-1", Goal: "fix the tests", TotalTokensUsed: 1000, TotalCostUSD: 1.5}}
	for _, c := range changes {
		c(&s)
	}
	return s
}

func spent(tokens int64, cost float64) func(*supervisor.State) {
	return func(s *supervisor.State) { s.Record.TotalTokensUsed, s.Record.TotalCostUSD = tokens, cost }
}

func waits(after time.Duration, why string) func(*supervisor.State) {
	return func(s *supervisor.State) { s.Waiting = &supervisor.Waiting{Until: moment.Add(after), Why: why} }
}

func asks(text string) func(*supervisor.State) {
	return func(s *supervisor.State) {
		s.Pursuit.Goals = []pursuit.Goal{{Text: "fix the tests", Question: &pursuit.Question{Text: text, Options: []string{"this", "that"}}}}
	}
}

func held(n int) func(*supervisor.State) { return func(s *supervisor.State) { s.HeldInRow = n } }

func told(status ...string) func(*supervisor.State) {
	return func(s *supervisor.State) {
		s.Record.Coordinator = &ledger.Coordinator{CohortTokens: 5000, CohortCostUSD: 9}
		for i, x := range status {
			if x == "done" {
				s.Record.CompletedCount++
			}
			s.Record.Stories = append(s.Record.Stories, ledger.Story{ID: string(rune('a' + i)), Title: "story", Status: x, Why: "asks"})
		}
	}
}

func ends(cause string, code int, kill string, t *ledger.Termination) func(*supervisor.State) {
	return func(s *supervisor.State) {
		s.Finished, s.Record.ExitCause, s.Record.ExitCode, s.Record.Termination = true, cause, code, t
		if kill != "" {
			detail := "4 of 5"
			s.Record.KillSwitch, s.Record.KillSwitchDetail = &kill, &detail
		}
	}
}

func TestFromState(t *testing.T) {
	t.Parallel()
	limits := About{Repo: "/srv/shop", Tokens: 10_000, Cost: 10}
	for name, tc := range map[string]struct {
		prev, now supervisor.State
		want      []string // kind, key
		words     []string // of the first notice
		command   string
	}{
		"nothing":         {state(), state(), nil, nil, ""},
		"begins":          {supervisor.State{}, state(), nil, nil, ""},
		"waits":           {state(), state(waits(time.Hour, "usage limit")), []string{"limit-reached wait 2026-01-31T23:00:00Z usage limit"}, []string{"usage limit", "2 sessions", "fix the tests"}, ""},
		"still waits":     {state(waits(time.Hour, "usage limit")), state(waits(time.Hour+time.Minute, "usage limit")), nil, nil, ""},
		"waits longer":    {state(waits(time.Hour, "usage limit")), state(waits(3*time.Hour, "usage limit")), []string{"limit-reached wait 2026-02-01T01:00:00Z usage limit"}, nil, ""},
		"waits for other": {state(waits(time.Hour, "usage limit")), state(waits(time.Hour, "overloaded")), []string{"limit-reached wait 2026-01-31T23:00:00Z overloaded"}, nil, ""},
		"goes on":         {state(waits(time.Hour, "usage limit")), state(), []string{"limit-over over 2026-01-31T23:00:00Z usage limit"}, []string{"usage limit"}, ""},
		"ends in a wait":  {state(waits(time.Hour, "usage limit")), state(ends("user-abort", 130, "user-abort", nil)), []string{"finished end"}, nil, "autopilot report main-1"},

		"tokens":               {state(spent(7999, 0)), state(spent(8000, 0)), []string{"budget tokens"}, []string{"80 %", "8,000 of 10,000"}, ""},
		"tokens, again":        {state(spent(8000, 0)), state(spent(9500, 0)), nil, nil, ""},
		"cost":                 {state(spent(1, 7.9)), state(spent(2, 9)), []string{"budget cost"}, []string{"90 %", "$9.00 of $10.00"}, ""},
		"both":                 {state(), state(spent(9000, 9)), []string{"budget tokens", "budget cost"}, nil, ""},
		"with those before it": {state(), state(func(s *supervisor.State) { s.Carried.Spent = killswitch.Spend{Tokens: 7000} }), []string{"budget tokens"}, nil, ""},
		"cohort's cost":        {state(), state(told("done", "running")), []string{"budget cost"}, []string{"1 of 2 stories done"}, ""},

		"a question":       {state(), state(asks("which way?")), []string{"needs-person question 0 which way?"}, []string{"which way?", "a) this", "b) that"}, "autopilot answer main-1 TEXT"},
		"the same":         {state(asks("which way?")), state(asks("which way?")), nil, nil, ""},
		"another":          {state(asks("which way?")), state(asks("and now?")), []string{"needs-person question 0 and now?"}, nil, "autopilot answer main-1 TEXT"},
		"calls are held":   {state(), state(held(1)), []string{"needs-person held 2"}, []string{"approval"}, "autopilot gates"},
		"are still held":   {state(held(1)), state(held(1)), nil, nil, ""},
		"are let through":  {state(held(1)), state(), nil, nil, ""},
		"story put aside":  {state(told("running", "running"), spent(1, 9)), state(told("person", "running"), spent(1, 9)), []string{"needs-person story a asks"}, []string{"story a needs you", "asks"}, "autopilot answer a TEXT"},
		"story, as before": {state(told("person")), state(told("person")), nil, nil, ""},
		"story is done":    {state(told("running")), state(told("done")), nil, nil, ""},

		"done":                 {state(), state(ends("work-done", 0, "", &ledger.Termination{Status: ledger.Completed, Summary: "Goal reached"})), []string{"finished end"}, []string{"Goal reached", "work-done", "1,000 tokens", "$1.50"}, "autopilot report main-1"},
		"a limit that was set": {state(), state(ends("max-sessions-reached", 0, "max-sessions-reached", &ledger.Termination{Status: ledger.Stopped, Resumable: true, Summary: "Stopped"})), []string{"finished end"}, []string{"4 of 5"}, "autopilot resume main-1"},
		"kill-switch":          {state(), state(ends("spiral", 3, "spiral", &ledger.Termination{Status: ledger.Stopped, Resumable: true, Summary: "Spiral"})), []string{"kill-switch end"}, []string{"Spiral", "4 of 5", "edited again and again"}, "autopilot resume main-1"},
		"its budget":           {state(spent(9000, 0)), state(ends("token-budget-exceeded", 6, "token-budget-exceeded", nil), spent(11_000, 0)), []string{"kill-switch end"}, nil, "autopilot report main-1"},
		"not sure enough":      {state(), state(ends("low-confidence-fallback", 4, "low-confidence-fallback", nil)), []string{"needs-person end"}, nil, "autopilot report main-1"},
		"paused": {
			state(asks("which way?")), state(ends("needs-person", 4, "", &ledger.Termination{Status: ledger.Paused, Summary: "Paused", Question: "which way?", Options: []string{"this"}, AwaitingUserInput: true, Resumable: true}), asks("which way?")),
			[]string{"needs-person end"},
			[]string{"Paused", "which way?", "a) this"},
			"autopilot answer main-1 TEXT",
		},
		"killed":            {supervisor.State{}, state(ends("killed", 137, "", &ledger.Termination{Status: ledger.Interrupted, Summary: "Killed", Resumable: true})), []string{"finished end"}, []string{"Killed"}, "autopilot resume main-1"},
		"no record":         {state(), state(ends("error", 1, "", nil)), []string{"finished end"}, []string{"ended: error"}, "autopilot report main-1"},
		"told before":       {state(ends("error", 1, "", nil)), state(ends("error", 1, "", nil)), nil, nil, ""},
		"cohort":            {state(told("running")), state(told("done", "failed"), ends("work-done", 0, "", nil)), []string{"finished end"}, []string{"1 of 2 stories done", "- b (failed): story"}, "autopilot report main-1"},
		"cohort, a person":  {state(told("person")), state(told("done", "person"), ends("max-sessions-reached", 0, "max-sessions-reached", nil)), []string{"needs-person end"}, nil, "autopilot report main-1"},
		"cohort, one story": {state(), state(told("done"), ends("work-done", 0, "", nil)), []string{"finished end"}, []string{"1 of 1 story done"}, "autopilot report main-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := FromState(tc.prev, tc.now, limits)
			var keys []string
			for _, n := range got {
				keys = append(keys, string(n.Kind)+" "+n.Key)
				if !n.At.Equal(moment) || n.Repo != "/srv/shop" || n.RunID != "main-1" || n.Title == "" {
					t.Errorf("notice %+v", n)
				}
			}
			if diff := cmp.Diff(tc.want, keys); diff != "" {
				t.Fatalf("news (-want +got):\n%s", diff)
			}
			if len(got) == 0 {
				return
			}
			for _, w := range tc.words {
				if !strings.Contains(got[0].Title+"\n"+got[0].Text, w) {
					t.Errorf("no %q in %q\n%s", w, got[0].Title, got[0].Text)
				}
			}
			if got[0].Command != tc.command {
				t.Errorf("command %q, want %q", got[0].Command, tc.command)
			}
		})
	}
}

func TestNewsWithoutLimits(t *testing.T) {
	t.Parallel()
	worktree := "/srv/tree"
	got := FromState(state(), state(spent(1<<40, 1e6), held(1), func(s *supervisor.State) {
		s.Record.WorktreePath = &worktree
		s.Tasks = &track.State{}
		s.Tasks.Total, s.Tasks.Completed = 4, 3
	}), About{})
	if len(got) != 1 || got[0].Kind != notice.NeedsPerson || got[0].Repo != worktree {
		t.Errorf("news %+v", got)
	}
}

// Texts of strangers reach a notice cut, however long they are.
func TestNewsIsCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x ", 1<<20)
	s := state(asks(long))
	for range 100 {
		s.Pursuit.Goals[0].Question.Options = append(s.Pursuit.Goals[0].Question.Options, long)
	}
	var many []string
	for range 30 {
		many = append(many, "failed")
	}
	for _, n := range append(FromState(state(), s, About{}), FromState(state(), state(told(many...), ends("spiral", 3, "spiral", nil)), About{})...) {
		n = n.Clean()
		if len(n.Text) > 6000 || len(n.Title) > 1000 || len(n.Key) > 2000 {
			t.Errorf("a notice of %d, %d and %d bytes", len(n.Title), len(n.Text), len(n.Key))
		}
	}
}
