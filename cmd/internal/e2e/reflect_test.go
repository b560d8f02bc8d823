//go:build e2e

package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"autopilot/metrics/ledger"
	"autopilot/reflector"
	"autopilot/sessions/messagesapi"
	"autopilot/supervisor/pursuit"
)

// goal names no file, so that nothing but what is said about it proves it.
const goal = "make the tests pass"

// reflections are those that the only run has written down.
func (l *lab) reflections() []pursuit.Record {
	l.t.Helper()
	found, err := filepath.Glob(filepath.Join(l.home, ".local/state/autopilot/projects/*/runs/*/reflections.jsonl"))
	if err != nil || len(found) != 1 {
		l.t.Fatalf("%d journals of reflections, want 1 (%v)", len(found), err)
	}
	return lines[pursuit.Record](l.t, found[0])
}

// onlyJudged asserts of a run with one session that a claude that looks back could
// do nothing else, that nobody's instructions reached it, and that it is no session
// of the run.
func (l *lab) onlyJudged() {
	l.t.Helper()
	ran := l.oneSession()
	for _, r := range l.looks() {
		if r.Session == "" || r.Session == ran.SessionID {
			l.t.Errorf("the look back %q is a session of the run", r.Session)
		}
		for _, tool := range r.Tools {
			if tool != "StructuredOutput" && tool != "DeferredToolPlaceholder" {
				l.t.Errorf("a look back is offered the tool %s", tool)
			}
		}
		for _, words := range []string{repositoryWords, personWords} {
			if strings.Contains(string(r.Body), words) {
				l.t.Errorf("a look back is told %q", words)
			}
		}
	}
}

const (
	repositoryWords = "Words of the repository to everybody who reads them."
	personWords     = "Words of the person to everybody who reads them."
)

// instruct writes instructions for claude into the repository and the home, and a
// hook of the repository that marks each session.
func (l *lab) instruct() {
	l.t.Helper()
	l.write("CLAUDE.md", repositoryWords+"\n")
	l.write("../home/.claude/CLAUDE.md", personWords+"\n")
	l.write(".claude/settings.json", `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"echo begun >> mark-hooks"}]}]}}`)
	l.commit("instructions")
}

// counted asserts that the sums of a run are those of all answers, with looks of
// them to looks back.
func (l *lab) counted(r ledger.Run, looks int) {
	l.t.Helper()
	answers := len(l.mainRequests()) + looks
	for _, q := range l.api.Requests() {
		if topic(q) == aboutGoal {
			answers++
		}
	}
	each := r.Endings[0].CostUSD / float64(r.Endings[0].Tokens/120)
	if r.TotalTokensUsed != int64(120*answers) || !near(r.TotalCostUSD, each*float64(answers)) {
		l.t.Errorf("the run took %d tokens and $%f, want those of %d answers at $%f", r.TotalTokensUsed, r.TotalCostUSD, answers, each)
	}
	if x := r.Reflections; x.Tokens != int64(120*looks) || !near(x.CostUSD, each*float64(looks)) {
		l.t.Errorf("looks back took %d tokens and $%f, want those of %d answers at $%f", x.Tokens, x.CostUSD, looks, each)
	}
}

// reflecting are flags for a run that looks back after each session.
func reflecting(more ...string) []string {
	return append([]string{goal, "--mode", "continuous", "--max-sessions", "4", "--reflect-every", "1", "--allowed-tools", "Bash"}, more...)
}

// The first look back meets the usage limit, which is waited for. The second says
// words until it is asked anew. Then it calls for a tool, gives an object that does
// not satisfy the schema, and one that does.
func TestE2EReflectInTheEnd(t *testing.T) {
	again := messagesapi.InSteps(bash("touch mark-judge"), invalid(), messagesapi.ToolUse("StructuredOutput", verdict(100, reflector.Good)))
	eachVersion(t, func(t *testing.T, claude string) {
		var reset atomic.Pointer[time.Time]
		limit := func(messagesapi.Request) messagesapi.Reply {
			now := time.Now()
			at := now.Add(3 * time.Second).Truncate(time.Second)
			reset.Store(&at)
			return messagesapi.UsageLimit(messagesapi.Window{Claim: "five_hour", Reset: at, Utilization: 1}, now)
		}
		words := func(messagesapi.Request) messagesapi.Reply {
			if now := time.Now(); now.Before(*reset.Load()) {
				t.Errorf("it is asked anew %v before the reset", reset.Load().Sub(now))
			}
			return messagesapi.Text("It goes quite well, I think.")
		}
		l := newLab(t, claude, judged(working(bash("echo hello > part.txt")), limit, words, again))
		l.withToken()
		l.instruct()
		e := l.run(reflecting("--reflector", "claude", "--limit-margin", "0s")...)
		r := l.check(e, want{cause: "work-done", endings: "completed", completed: 1})
		if r.WaitedSeconds < 1 || !strings.Contains(e.stderr, "waiting for the API") {
			t.Errorf("waited %d s, want the time until the reset", r.WaitedSeconds)
		}
		if all := l.reflections(); len(all) != 1 || all[0].Attempts != 2 || all[0].Error != "" || all[0].Decision.Rule != "achieved" {
			t.Errorf("reflections = %+v, want one in two attempts", all)
		}
		looks := l.looks()
		if len(looks) != 6 || looks[1].Session != looks[2].Session || looks[3].Session == looks[1].Session || looks[3].Session != looks[5].Session {
			t.Fatalf("%d requests to look back, want 1, 2 and 3 in three conversations", len(looks))
		}
		if text := looks[3].LastUserText(); !strings.Contains(text, "could not be used") || !strings.Contains(text, "It goes quite well") {
			t.Errorf("it is asked anew with %q, want what was wrong", text)
		}
		if hooks := l.contents("mark-hooks"); l.exists("mark-judge") || hooks != "begun\n" {
			t.Errorf("hooks ran as %q, want once for the session, and no command for a look back", hooks)
		}
		l.onlyJudged()
		l.counted(r, 5)
		if kept, err := filepath.Glob(filepath.Join(l.home, ".claude/projects/*", "*.jsonl")); err != nil || len(kept) != 1 {
			t.Errorf("transcripts %q, want that of the session alone (%v)", kept, err)
		}
		if body := string(l.mainRequests()[0].Body); !strings.Contains(body, repositoryWords) || !strings.Contains(body, personWords) {
			t.Error("a session that works is not told what the two files say, so that this shows nothing")
		}
	})
}

// What the goal means is answered with objects that do not satisfy the schema, and
// each look back with words. The run goes on without, within its limits.
func TestE2EReflectWithoutAnAnswer(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		script := judged(talk(messagesapi.InSteps(bash("echo hello > part.txt"), reportMore("a part")), nil), messagesapi.Always(messagesapi.Text("I would rather not say.")))
		l := newLab(t, claude, func(r messagesapi.Request) messagesapi.Reply {
			if topic(r) == aboutGoal {
				return invalid()
			}
			return script(r)
		})
		e := l.run(reflecting("--reflector", "claude", "--max-sessions", "1")...)
		r := l.check(e, want{killSwitch: "max-sessions-reached", endings: "completed", completed: 1})
		if all := l.reflections(); len(all) != 1 || all[0].Attempts != 2 || all[0].Error == "" || all[0].Assessment != nil || all[0].Decision.Rule != pursuit.RuleFixed {
			t.Errorf("reflections = %+v, want one that came to nothing in two attempts", all)
		}
		for _, words := range []string{"the goal was analysed without a model", "the reflection came to nothing; the fixed limits hold"} {
			if strings.Count(e.stderr, words) != 1 {
				t.Errorf("the log does not say once that %s", words)
			}
		}
		if r.Reflections.Failed != 1 || len(l.looks()) != 4 {
			t.Errorf("reflections = %+v by %d requests, want a failed one by 4", r.Reflections, len(l.looks()))
		}
		l.onlyJudged()
		l.counted(r, 4)
	})
}

// invalid is a report of a claude that looks back which does not satisfy the
// schema.
func invalid() messagesapi.Reply {
	return messagesapi.ToolUse("StructuredOutput", map[string]any{"goalAchieved": "PERHAPS"})
}

// service is one that speaks OpenAI's API and finds that going on is of no use.
type service struct {
	*httptest.Server
	mu   sync.Mutex
	got  []string // bodies
	keys []string
}

func newService(t *testing.T) *service {
	t.Helper()
	stop := verdict(40, reflector.Good)
	stop.Recommendation, stop.Reasoning = reflector.Stop, "The library is not there any more."
	text, err := json.Marshal(stop)
	if err != nil {
		t.Fatal(err)
	}
	s := &service{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data":[{"id":"judge-1"}]}`) })
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		s.got, s.keys = append(s.got, string(body)), append(s.keys, r.Header.Get("Authorization"))
		s.mu.Unlock()
		answer := string(text)
		if strings.Contains(string(body), "You read a goal of") {
			answer = `{"is_ambiguous":false,"issue":"","suggestion":"","success_criteria":[],"milestones":[]}`
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"id": "1", "object": "chat.completion", "model": "judge-1",
			"choices": []any{map[string]any{"index": 0, "finish_reason": "stop", "message": map[string]any{"role": "assistant", "content": answer}}},
			"usage":   map[string]any{"prompt_tokens": 700, "completion_tokens": 50, "total_tokens": 750},
		})
	})
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// Another service looks back at what claude does, and ends the run.
func TestE2EReflectByAnotherService(t *testing.T) {
	eachVersion(t, func(t *testing.T, claude string) {
		judge := newService(t)
		l := newLab(t, claude, talk(messagesapi.InSteps(bash("env > mark-env; echo hello > part1.txt"), reportMore("a part")), nil))
		l.set("AUTOPILOT_REFLECT_KEY", "a-key-of-nobody")
		e := l.run(reflecting("--reflector", "openai", "--reflect-url", judge.URL, "--reflect-model", "judge-1")...)
		r := l.check(e, want{code: 3, cause: "given-up", endings: "completed", completed: 1})
		if end := r.Termination; end.Status != ledger.Stopped || end.Reason != "given_up" || !end.Resumable || r.Goals[0].Status != ledger.GoalGivenUp {
			t.Errorf("the run ended as %+v, want one that was given up", end)
		}
		if x := r.Reflections; x.Count != 1 || x.By["openai"] != 1 || x.Tokens != 750 || r.TotalTokensUsed != 240+2*750 {
			t.Errorf("%d tokens and reflections %+v, want 240 of the session and 750 for each question", r.TotalTokensUsed, x)
		}
		if n := len(l.api.Requests()); n != 2 || len(judge.got) != 2 || !strings.Contains(judge.got[1], "part1.txt") {
			t.Errorf("%d requests for the work and %d to the service, want 2 and 2 that tell of the work", n, len(judge.got))
		}
		if strings.Contains(l.contents("mark-env"), "a-key-of-nobody") {
			t.Error("the session was given the key of the service")
		}
		for _, key := range judge.keys {
			if key != "Bearer a-key-of-nobody" {
				t.Errorf("the service was given the key %q", key)
			}
		}
	})
}
