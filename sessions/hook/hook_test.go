package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func noon() time.Time { return time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC) }

func change(limit int, tier string) Change {
	return Change{At: noon(), Cap: limit, Tier: tier, Signal: "peers"}
}

// newCap returns a cap file that holds the given cap and slots.
func newCap(t testing.TB, limit int, active ...string) CapFile {
	t.Helper()
	f := CapFile(filepath.Join(t.TempDir(), "cap.json"))
	if _, err := f.Set(change(max(limit, len(active)), "green")); err != nil {
		t.Fatal(err)
	}
	for _, id := range active {
		if _, ok, err := f.Reserve(id, noon()); !ok || err != nil {
			t.Fatalf("reserve %s: %v, %v", id, ok, err)
		}
	}
	if _, err := f.Set(change(limit, "warn")); err != nil {
		t.Fatal(err)
	}
	return f
}

func load(t testing.TB, f CapFile) CapState {
	t.Helper()
	s, err := f.Load()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func held(t testing.TB, f CapFile) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(load(t, f).Active))
}

// call is the input of a hook as the CLI passes it.
func call(event, id, more string) string {
	return fmt.Sprintf(`{"session_id":"s","transcript_path":"/t","cwd":"/c","permission_mode":"default","hook_event_name":%q,"tool_name":"Agent",`+
		`"tool_input":{"description":"d","prompt":"p","subagent_type":"general-purpose"},"tool_use_id":%q%s}`, event, id, more)
}

func TestAgentCap(t *testing.T) {
	t.Parallel()
	const (
		pre  = "PreToolUse"
		post = "PostToolUse"
		full = "autopilot's limit on sub-agents at once is 2 now (tier warn, decided by peers); running: 2. Wait until one has ended before you start the next, or do this work yourself."
		over = "autopilot's limit on sub-agents at once is 1 now (tier warn, decided by peers); running: 3. Wait until one has ended before you start the next, or do this work yourself."
		none = "autopilot allows no sub-agents now (tier warn, decided by peers). Do this work yourself, in this conversation."
	)
	big := `,"tool_input":{"prompt":"` + strings.Repeat("x", 5<<20) + `"}`
	tests := []struct {
		name   string
		limit  int
		active []string
		in     string
		held   []string // afterwards
		denied string   // the reason; empty for no objection
		err    string   // and no answer
	}{
		{"under the cap", 2, []string{"a"}, call(pre, "b", ""), []string{"a", "b"}, "", ""},
		{"the first one", 1, nil, call(pre, "a", ""), []string{"a"}, "", ""},
		{"at the cap", 2, []string{"a", "b"}, call(pre, "c", ""), []string{"a", "b"}, full, ""},
		{"over the cap, which was lowered", 1, []string{"a", "b", "c"}, call(pre, "d", ""), []string{"a", "b", "c"}, over, ""},
		{"no sub-agents", 0, nil, call(pre, "a", ""), nil, none, ""},
		{"no sub-agents, some still run", 0, []string{"a"}, call(pre, "b", ""), []string{"a"}, none, ""},
		{"a call that holds a slot", 2, []string{"a", "b"}, call(pre, "b", ""), []string{"a", "b"}, "", ""},
		{"a call that holds a slot while none are allowed any more", 0, []string{"a"}, call(pre, "a", ""), []string{"a"}, "", ""},
		{"the older name of the tool", 0, nil, strings.Replace(call(pre, "a", ""), "Agent", "Task", 1), nil, none, ""},
		{"another tool", 0, nil, strings.Replace(call(pre, "a", ""), "Agent", "TaskCreate", 1), nil, "", ""},
		{"no name of a tool", 0, nil, `{"hook_event_name":"PreToolUse","tool_use_id":"a"}`, nil, none, ""},
		{"within a sub-agent", 2, []string{"a", "b"}, call(pre, "c", `,"agent_id":"x","agent_type":"y"`), []string{"a", "b"}, full, ""},

		{"the end gives the slot back", 2, []string{"a", "b"}, call(post, "a", `,"tool_response":{"status":"completed"}`), []string{"b"}, "", ""},
		{"a failure gives it back", 2, []string{"a", "b"}, call("PostToolUseFailure", "b", `,"error":"x"`), []string{"a"}, "", ""},
		{"an end that is a text", 2, []string{"a", "b"}, call(post, "a", `,"tool_response":"report"`), []string{"b"}, "", ""},
		{"an end that is a list", 2, []string{"a", "b"}, call(post, "a", `,"tool_response":[{"type":"text","text":"x"}]`), []string{"b"}, "", ""},
		{"an end without an answer", 2, []string{"a", "b"}, call(post, "a", ""), []string{"b"}, "", ""},
		{"the end of an unknown call", 2, []string{"a", "b"}, call(post, "z", ""), []string{"a", "b"}, "", ""},
		{"an end without an id", 2, []string{"a"}, `{"hook_event_name":"PostToolUse"}`, []string{"a"}, "", ""},
		{"started in the background", 2, []string{"a", "b"}, call(post, "a", `,"tool_response":{"isAsync":true}`), []string{"a", "b"}, "", ""},
		{"started in the background, by its status", 2, []string{"a", "b"}, call(post, "a", `,"tool_response":{"status":"async_launched","agentId":"x"}`), []string{"a", "b"}, "", ""},
		{"not in the background", 2, []string{"a", "b"}, call(post, "a", `,"tool_response":{"isAsync":false,"status":"completed"}`), []string{"b"}, "", ""},

		{"another event", 0, []string{"a"}, call("Stop", "a", ""), []string{"a"}, "", ""},
		{"an event that is not known", 0, nil, call("SomethingNew", "a", ""), nil, "", ""},
		{"an input that is a text", 0, nil, strings.Replace(call(pre, "a", ""), `{"description":"d","prompt":"p","subagent_type":"general-purpose"}`, `"text"`, 1), nil, none, ""},
		{"an input that is a number", 2, nil, strings.Replace(call(pre, "a", ""), `{"description":"d","prompt":"p","subagent_type":"general-purpose"}`, `5`, 1), []string{"a"}, "", ""},
		{"an answer of odd types", 2, []string{"a"}, call(post, "a", `,"tool_response":{"status":5,"isAsync":"x"}`), nil, "", ""},
		{"a name of another type", 0, nil, strings.Replace(call(pre, "a", ""), `"Agent"`, `7`, 1), nil, none, ""},
		{"five megabytes, under the cap", 2, nil, call(pre, "a", big), []string{"a"}, "", ""},
		{"five megabytes, at the cap", 0, nil, call(pre, "a", big), nil, none, ""},
		{"more behind it", 0, nil, call(pre, "a", "") + "\n{}garbage", nil, none, ""},

		{"nothing", 2, nil, "", nil, "", "read hook input: EOF"},
		{"garbage", 2, nil, "garbage", nil, "", "read hook input: invalid character 'g'"},
		{"cut off", 2, nil, call(pre, "a", "")[:80], nil, "", "read hook input: unexpected EOF"},
		{"a list", 2, nil, "[]", nil, "", "read hook input: hook_event_name is missing"},
		{"a text", 2, nil, `"PreToolUse"`, nil, "", "read hook input: hook_event_name is missing"},
		{"null", 2, nil, "null", nil, "", "read hook input: hook_event_name is missing"},
		{"an empty object", 2, nil, "{}", nil, "", "read hook input: hook_event_name is missing"},
		{"an event of another type", 2, nil, `{"hook_event_name":["PreToolUse"],"tool_use_id":"a"}`, nil, "", "read hook input: hook_event_name is missing"},
		{"no id", 2, nil, `{"hook_event_name":"PreToolUse","tool_name":"Agent"}`, nil, "", "read hook input: tool_use_id is missing"},
		{"an id of another type", 2, nil, `{"hook_event_name":"PreToolUse","tool_name":"Agent","tool_use_id":5}`, nil, "", "read hook input: tool_use_id is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newCap(t, tt.limit, tt.active...)
			before := load(t, f)
			var out bytes.Buffer
			err := AgentCap(strings.NewReader(tt.in), &out, f, noon())
			if (err != nil) != (tt.err != "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			want := ""
			if tt.denied != "" {
				want = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"` + tt.denied + `"}}` + "\n"
			}
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.held, held(t, f)); diff != "" {
				t.Errorf("slots (-want +got):\n%s", diff)
			}
			var refused []Refusal
			if in, err := readInput(strings.NewReader(tt.in)); err == nil && tt.denied != "" {
				refused = []Refusal{{ToolUseID: in.ToolUseID, At: noon(), Cap: tt.limit, Active: len(tt.active)}}
			}
			after := load(t, f)
			if diff := cmp.Diff(refused, after.Refused); diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
			if got, want := after.Allowed-before.Allowed, max(0, len(tt.held)-len(tt.active)); got != want {
				t.Errorf("%d more were allowed, want %d", got, want)
			}
		})
	}
}

func TestAgentCapFailsClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	broken := CapFile(filepath.Join(dir, "broken.json"))
	empty := CapFile(filepath.Join(dir, "empty.json"))
	for f, text := range map[CapFile]string{broken: `{"cap":`, empty: ""} {
		if err := os.WriteFile(string(f), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, f := range map[string]CapFile{
		"missing": CapFile(filepath.Join(dir, "missing.json")), "folder missing": CapFile(filepath.Join(dir, "no", "cap.json")),
		"a folder": CapFile(dir), "broken": broken, "empty": empty,
	} {
		var out bytes.Buffer
		err := AgentCap(strings.NewReader(call("PreToolUse", "a", "")), &out, f, noon())
		if err == nil || !strings.HasPrefix(err.Error(), "sub-agent refused, autopilot's agent cap is not readable: ") || out.Len() > 0 {
			t.Errorf("%s: got %v and %q, want an error and no answer", name, err, out.String())
		}
		if err := AgentCap(strings.NewReader(call("PostToolUse", "a", "")), &out, f, noon()); err == nil || out.Len() > 0 {
			t.Errorf("%s, at the end: got %v and %q, want an error and no answer", name, err, out.String())
		}
	}
	if data, err := os.ReadFile(string(broken)); err != nil || string(data) != `{"cap":` {
		t.Errorf("the broken file was changed to %q, %v", data, err)
	}
}

func TestInputIsBounded(t *testing.T) {
	t.Parallel()
	in := &endless{head: `{"hook_event_name":"PreToolUse","tool_use_id":"a","tool_input":"`}
	if err := AgentCap(in, nil, newCap(t, 2), noon()); err == nil || !strings.HasPrefix(err.Error(), "read hook input: ") {
		t.Errorf("got %v, want an error", err)
	}
	if in.given > inputLimit+1<<20 {
		t.Errorf("%d bytes were read, want about %d at most", in.given, inputLimit)
	}
}

// endless is an input that does not end.
type endless struct {
	head  string
	given int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.head)
	e.head = e.head[n:]
	for i := n; i < len(p); i++ {
		p[i] = 'x'
	}
	e.given += len(p)
	return len(p), nil
}

// TestNeverOverTheCap lets fifty hooks ask at once, each with a file handle and a
// lock of its own as separate processes have.
func TestNeverOverTheCap(t *testing.T) {
	t.Parallel()
	const hooks, limit, rounds = 50, 4, 2
	path := newCap(t, limit)
	var running, most, allowed, refused atomic.Int64
	var wg sync.WaitGroup
	for i := range hooks {
		wg.Go(func() {
			f := CapFile(strings.Clone(string(path)))
			for r := range rounds {
				id := fmt.Sprintf("%d-%d", i, r)
				var out bytes.Buffer
				if err := AgentCap(strings.NewReader(call("PreToolUse", id, "")), &out, f, noon()); err != nil {
					t.Error(err)
					return
				}
				if out.Len() > 0 {
					refused.Add(1)
					continue
				}
				allowed.Add(1)
				n := running.Add(1)
				for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
				}
				running.Add(-1)
				if err := AgentCap(strings.NewReader(call("PostToolUse", id, "")), &out, f, noon()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := most.Load(); got > limit || got < 1 {
		t.Errorf("%d sub-agents ran at once, the cap is %d", got, limit)
	}
	s := load(t, path)
	if len(s.Active) != 0 || int64(s.Allowed) != allowed.Load() || int64(s.RefusedCount()) != refused.Load() || s.Allowed+s.RefusedCount() != hooks*rounds {
		t.Errorf("counted %d active, %d allowed, %d refused; the hooks saw %d and %d", len(s.Active), s.Allowed, s.RefusedCount(), allowed.Load(), refused.Load())
	}
	for _, r := range s.Refused {
		if r.Active != limit {
			t.Errorf("refused with %d active, the cap is %d", r.Active, limit)
		}
	}
}

// TestAllAtOnce is one answer of the model that starts many: exactly the cap is
// let through when none ends.
func TestAllAtOnce(t *testing.T) {
	t.Parallel()
	const hooks, limit = 50, 4
	path := newCap(t, limit)
	var allowed atomic.Int64
	var wg sync.WaitGroup
	for i := range hooks {
		wg.Go(func() {
			s, ok, err := CapFile(strings.Clone(string(path))).Reserve(fmt.Sprint(i), noon())
			if err != nil {
				t.Error(err)
			}
			if ok {
				allowed.Add(1)
			}
			if len(s.Active) > limit {
				t.Errorf("%d slots are taken, the cap is %d", len(s.Active), limit)
			}
		})
	}
	wg.Wait()
	if got, slots := allowed.Load(), held(t, path); got != limit || len(slots) != limit {
		t.Errorf("%d were allowed and %d slots are taken, want %d", got, len(slots), limit)
	}
}

// TestTwoSessionsInOneFolder do not disturb each other's files.
func TestTwoSessionsInOneFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 4 {
		f := CapFile(filepath.Join(dir, fmt.Sprintf("cap%d.json", i)))
		wg.Go(func() {
			for n := range 20 {
				if _, err := f.Set(change(i, fmt.Sprint(n))); err != nil {
					t.Error(err)
				}
				if s, err := f.Load(); err != nil || s.Cap != i {
					t.Errorf("file %d holds %+v, %v", i, s, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestSet(t *testing.T) {
	t.Parallel()
	f := CapFile(filepath.Join(t.TempDir(), "cap.json"))
	set := func(c Change, want bool) {
		t.Helper()
		if got, err := f.Set(c); err != nil || got != want {
			t.Errorf("set %+v: changed %v, %v, want %v", c, got, err, want)
		}
	}
	at := func(minutes, limit int, tier, signal string) Change {
		return Change{At: noon().Add(time.Duration(minutes) * time.Minute), Cap: limit, Tier: tier, Signal: signal}
	}
	refused := func(c Change) Change { c.Refused = 1; return c }
	set(at(0, 3, "green", "none"), true)
	for _, id := range []string{"a", "b", "c", "d"} {
		if _, _, err := f.Reserve(id, noon()); err != nil {
			t.Fatal(err)
		}
	}
	set(at(1, 3, "green", "none"), false)
	set(at(2, 3, "green", "swap"), false)
	set(at(3, 2, "degraded", "swap"), true)
	if _, ok, err := f.Reserve("e", noon()); ok || err != nil {
		t.Errorf("a lower cap does not hold at once: %v, %v", ok, err)
	}
	set(at(4, 2, "warn", "swap"), true)
	set(at(5, 0, "critical", "memory"), true)
	set(at(6, 4, "green", "none"), true)
	if _, ok, err := f.Reserve("f", noon()); !ok || err != nil {
		t.Errorf("a higher cap does not hold at once: %v, %v", ok, err)
	}
	want := CapState{
		Cap: 4, Tier: "green", Signal: "none", Active: map[string]time.Time{"a": noon(), "b": noon(), "c": noon(), "f": noon()}, Allowed: 4,
		Refused: []Refusal{{"d", noon(), 3, 3}, {"e", noon(), 2, 3}},
		Changes: []Change{refused(at(0, 3, "green", "none")), refused(at(3, 2, "degraded", "swap")), at(4, 2, "warn", "swap"), at(5, 0, "critical", "memory"), at(6, 4, "green", "none")},
	}
	if diff := cmp.Diff(want, load(t, f)); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	info, err := os.Stat(string(f))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
}

// TestFirstSetOfNothing creates the file also when the zero cap holds.
func TestFirstSetOfNothing(t *testing.T) {
	t.Parallel()
	f := CapFile(filepath.Join(t.TempDir(), "cap.json"))
	if changed, err := f.Set(Change{}); err != nil || !changed {
		t.Errorf("changed %v, %v, want a new file", changed, err)
	}
	if got := len(load(t, f).Changes); got != 1 {
		t.Errorf("%d changes, want 1", got)
	}
	if _, err := CapFile(filepath.Join(t.TempDir(), "no", "cap.json")).Set(Change{}); err == nil {
		t.Error("a cap was set in a folder that is not there")
	}
}

func TestRelease(t *testing.T) {
	t.Parallel()
	f := newCap(t, 2, "a", "b")
	for _, tt := range []struct{ ids, want []string }{
		{nil, []string{"a", "b"}}, {[]string{"z"}, []string{"a", "b"}}, {[]string{"", "z", "a"}, []string{"b"}}, {[]string{"a"}, []string{"b"}}, {[]string{"b", "b"}, nil},
	} {
		if err := f.Release(tt.ids...); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, held(t, f)); diff != "" {
			t.Errorf("after %q (-want +got):\n%s", tt.ids, diff)
		}
	}
	if got := load(t, f).Allowed; got != 2 {
		t.Errorf("%d were allowed, want the 2 of before", got)
	}
	if _, ok, err := f.Reserve("c", noon()); !ok || err != nil {
		t.Errorf("a slot that was given back cannot be taken: %v, %v", ok, err)
	}
}

// TestReadersSeeWholeFiles reads while others write.
func TestReadersSeeWholeFiles(t *testing.T) {
	t.Parallel()
	f := newCap(t, 100)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 100 {
			if _, _, err := f.Reserve(fmt.Sprint(i), noon()); err != nil {
				t.Error(err)
			}
		}
	})
	for seen := 0; seen < 100; {
		s, err := f.Load()
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Active) < seen || len(s.Active) != s.Allowed {
			t.Fatalf("%d active, %d allowed, after %d", len(s.Active), s.Allowed, seen)
		}
		seen = len(s.Active)
		if t.Context().Err() != nil || t.Failed() {
			break
		}
	}
	wg.Wait()
}

func FuzzAgentCap(f *testing.F) {
	for _, s := range []string{
		"", "null", "[]", "{}", "{", call("PreToolUse", "b", ""), call("PreToolUse", "a", ""), call("PostToolUse", "a", ""), call("PostToolUse", "a", `,"tool_response":"x"`),
		call("PostToolUse", "a", `,"tool_response":{"isAsync":true}`), call("Stop", "b", ""), `{"hook_event_name":"PreToolUse"}`, `{"HOOK_EVENT_NAME":"PreToolUse","tool_use_id":"b","hook_event_name":5}`,
		`{"hook_event_name":"PreToolUse","tool_use_id":"b\ud800"}`, call("PreToolUse", "b", `,"tool_name":"Bash"`),
	} {
		f.Add([]byte(s))
	}
	cap := CapFile(filepath.Join(f.TempDir(), "cap.json"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.Remove(string(cap)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if _, err := cap.Set(change(1, "green")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := cap.Reserve("a", noon()); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err := AgentCap(bytes.NewReader(data), &out, cap, noon())
		s := load(t, cap)
		if len(s.Active) > 1 || s.Cap != 1 || len(s.Refused) > 1 {
			t.Fatalf("one call left %+v", s)
		}
		switch refused := len(s.Refused) == 1; {
		case err != nil && (out.Len() > 0 || refused):
			t.Fatalf("error %v beside an answer %q", err, out.String())
		case refused != (out.Len() > 0):
			t.Fatalf("refused %v, answer %q", refused, out.String())
		}
		var answer output
		if out.Len() > 0 && (json.Unmarshal(out.Bytes(), &answer) != nil || answer.Specific.Decision != "deny" || answer.Specific.Reason == "") {
			t.Fatalf("answer %q", out.String())
		}
	})
}

func BenchmarkAgentCap(b *testing.B) {
	for _, bench := range []struct {
		name          string
		limit, before int // refusals that stand in the file already
	}{{"allowed", 4, 0}, {"refused", 0, 0}, {"allowed after 1000 refusals", 4, 1000}} {
		b.Run(bench.name, func(b *testing.B) {
			f := newCap(b, 0)
			err := f.update(false, func(s *CapState) bool {
				for range bench.before {
					s.Refused = append(s.Refused, Refusal{"toolu_01AbCdEfGhIjKlMnOpQrStUv", noon(), 0, 0})
				}
				s.Cap = bench.limit
				return true
			})
			if err != nil {
				b.Fatal(err)
			}
			pre, post := call("PreToolUse", "a", ""), call("PostToolUse", "a", "")
			n := 0
			for b.Loop() {
				for _, in := range []string{pre, post} {
					if err := AgentCap(strings.NewReader(in), new(bytes.Buffer), f, noon()); err != nil {
						b.Fatal(err)
					}
				}
				if n++; bench.limit == 0 && n%100 == 0 { // a file that grows would measure something else
					if err := f.update(false, func(s *CapState) bool { s.Refused = nil; return true }); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func TestReleaseAll(t *testing.T) {
	t.Parallel()
	f := CapFile(filepath.Join(t.TempDir(), "cap.json"))
	if _, err := f.Set(Change{At: noon(), Cap: 2, Tier: "warn", Signal: "peers"}); err != nil {
		t.Fatal(err)
	}
	for i := range 3 + keptRefusals + 5 {
		if _, _, err := f.Reserve(fmt.Sprint(i), noon()); err != nil {
			t.Fatal(err)
		}
	}
	s := load(t, f)
	if len(s.Refused) != keptRefusals || s.RefusedCount() != 1+keptRefusals+5 || s.Refused[keptRefusals-1].ToolUseID != fmt.Sprint(2+keptRefusals+5) {
		t.Errorf("%d refusals kept of %d, last %+v", len(s.Refused), s.RefusedCount(), s.Refused[len(s.Refused)-1])
	}
	if err := f.ReleaseAll(); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := f.Reserve("next", noon()); !ok || err != nil {
		t.Errorf("no slot after all were given back: %v", err)
	}
}
