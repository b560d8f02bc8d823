package outcome_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"autopilot/sessions/outcome"
	"autopilot/sessions/stream"
)

func observe(t testing.TB, ta *outcome.Tally, lines string) {
	t.Helper()
	for _, e := range decode(t, lines) {
		ta.Observe(e)
	}
}

// modelUsage is what one model used, as the CLI prints it.
func modelUsage(u outcome.Usage) string {
	return fmt.Sprintf(`{"m":{"inputTokens":%d,"outputTokens":%d,"cacheReadInputTokens":%d,"cacheCreationInputTokens":%d,"costUSD":%g}}`,
		u.Input, u.Output, u.CacheRead, u.CacheCreation, u.CostUSD)
}

// paid is a result of the older CLI: the totals of its process.
func paid(totals outcome.Usage) string {
	return result(success+`,"modelUsage":`+modelUsage(totals)) + "\n"
}

// paidSince is a result of the newer CLI: the totals of the conversation and the
// share since the last result.
func paidSince(totals, since outcome.Usage) string {
	share := `{}`
	if since != (outcome.Usage{}) {
		share = modelUsage(since)
	}
	return result(success+`,"modelUsage":`+modelUsage(totals)+`,"model_usage_since_last_result":`+share) + "\n"
}

// asked is the beginning of a streamed request, answered its end.
func asked(id string, u outcome.Usage) string {
	return fmt.Sprintf(`{"type":"stream_event","event":{"type":"message_start","message":{"id":%q,"usage":{"input_tokens":%d,"output_tokens":1,"cache_creation_input_tokens":%d,"cache_read_input_tokens":%d}}}}`,
		id, u.Input, u.CacheCreation, u.CacheRead) + "\n"
}

func answered(output int64) string {
	return fmt.Sprintf(`{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":%d}}}`, output) + "\n"
}

func times(n int64) outcome.Usage {
	return outcome.Usage{Input: 100 * n, Output: 20 * n, CacheCreation: 7 * n, CacheRead: 9 * n, CostUSD: 0.01 * float64(n)}
}

func TestUsageOverProcesses(t *testing.T) {
	t.Parallel()
	lost := times(1)
	lost.CostUSD = 0
	tests := []struct {
		name      string
		processes []string
		want      outcome.Usage
	}{
		{"the older starts at zero", []string{paid(times(2)), paid(times(3))}, times(5)},
		{"the older adds up within a process", []string{paid(times(2)) + paid(times(3)), paid(times(1))}, times(4)},
		{"the newer carries on", []string{paidSince(times(2), times(2)), paidSince(times(5), times(3))}, times(5)},
		{"the newer with several results", []string{paidSince(times(2), times(2)) + paidSince(times(2), outcome.Usage{}) + paidSince(times(3), times(1))}, times(3)},
		{"the newer resumed by a result without a share", []string{paidSince(times(4), times(4)), paidSince(times(4), outcome.Usage{})}, times(4)},
		{"the newer continues what another started", []string{paidSince(times(9), times(1))}, times(1)},
		{
			"several models",
			[]string{result(success+`,"modelUsage":{"a":{"inputTokens":1,"costUSD":0.5},"b":{"inputTokens":2,"costUSD":0.25}}`) + "\n"},
			outcome.Usage{Input: 3, CostUSD: 0.75},
		},
		{"killed in a request", []string{asked("m", times(1)) + answered(20)}, lost},
		{"killed before the answer was complete", []string{asked("m", times(1))}, outcome.Usage{Input: 100, Output: 1, CacheCreation: 7, CacheRead: 9}},
		{
			"killed in the second request",
			[]string{asked("m", times(1)) + answered(20) + asked("n", times(1)) + answered(20)},
			outcome.Usage{Input: 200, Output: 40, CacheCreation: 14, CacheRead: 18},
		},
		{"killed, then resumed by the newer", []string{asked("m", times(1)) + answered(20), paidSince(times(5), times(3))}, times(3).Add(lost)},
		{"killed, then resumed by the older", []string{asked("m", times(1)) + answered(20), paid(times(3))}, times(3).Add(lost)},
		{"a result counts what was streamed", []string{asked("m", times(1)) + answered(20) + paid(times(1))}, times(1)},
		{"killed after a result", []string{paid(times(2)) + asked("m", times(1)) + answered(20)}, times(2).Add(lost)},
		{"nothing", []string{initLine}, outcome.Usage{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ta := outcome.NewTally()
			for i, p := range tt.processes {
				if i > 0 {
					ta.NextProcess(false)
				}
				observe(t, ta, p)
			}
			if diff := cmp.Diff(tt.want, ta.Facts().Usage, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUsageProperty plays conversations of both kinds of CLI, with kills and
// interrupts at any moment: the usage never falls, and what was printed or
// streamed is in it exactly once.
func TestUsageProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		c := conversation{rt: rt, newer: rapid.Bool().Draw(rt, "newer"), tally: outcome.NewTally()}
		for range rapid.IntRange(1, 25).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"request", "request", "agent", "cut", "result", "empty", "next"}).Draw(rt, "step") {
			case "request":
				c.request()
			case "agent":
				c.process = c.process.Add(c.drawn()) // prints nothing until the result
			case "cut":
				c.cut()
			case "result":
				c.result()
			case "empty":
				if c.newer {
					c.result() // prints a share with every result
					continue
				}
				c.print(result(`"subtype":"success","result":"","is_error":false`) + "\n") // what a blocked prompt prints
				c.open = outcome.Usage{}
				c.loose = true
			case "next":
				c.next()
			}
		}
		c.next()
		if got := c.tally.Facts().Usage; !c.loose && cmp.Diff(c.want, got, cmpopts.EquateApprox(0, 1e-6)) != "" {
			rt.Fatalf("usage %+v, want %+v", got, c.want)
		}
	})
}

// conversation plays the CLI and keeps the truth.
type conversation struct {
	rt       *rapid.T
	tally    *outcome.Tally
	newer    bool
	requests int
	want     outcome.Usage // of the processes that are over
	all      outcome.Usage // what the newer CLI remembers of the whole conversation
	process  outcome.Usage // of this process, printed or not
	printed  outcome.Usage // of this process, printed in a result
	open     outcome.Usage // streamed since the last result
	loose    bool          // the CLI has swallowed something: only that nothing falls is sure
}

func (c *conversation) drawn() outcome.Usage {
	n := rapid.Int64Range(0, 1000).Draw(c.rt, "tokens")
	return outcome.Usage{Input: n, Output: 1 + n/2, CacheCreation: n / 3, CacheRead: 2 * n, CostUSD: float64(n) / 1000}
}

func (c *conversation) print(lines string) {
	before := c.tally.Facts().Usage
	d := stream.New(stream.Limits{}, func(e stream.Event) { c.tally.Observe(e) })
	if _, err := d.Write([]byte(lines)); err != nil {
		c.rt.Fatal(err)
	}
	now := c.tally.Facts().Usage
	if fell(before, now) || now.Input < 0 || now.Output < 0 || now.CostUSD < 0 {
		c.rt.Fatalf("usage goes from %+v to %+v with %s", before, now, lines)
	}
}

func (c *conversation) request() {
	u := c.drawn()
	c.requests++
	c.print(asked(fmt.Sprint("m", c.requests), u) + answered(u.Output))
	c.process = c.process.Add(u)
	u.CostUSD = 0
	c.open = c.open.Add(u)
}

// cut is a request that is interrupted: a result follows that, of the older CLI,
// does not count it.
func (c *conversation) cut() {
	u := c.drawn()
	c.requests++
	c.print(asked(fmt.Sprint("m", c.requests), u))
	if c.newer {
		u.Output = 1
		c.process = c.process.Add(u)
	} else {
		c.loose = true
	}
	c.result()
}

func (c *conversation) result() {
	since := outcome.Usage{
		Input: c.process.Input - c.printed.Input, Output: c.process.Output - c.printed.Output, CacheCreation: c.process.CacheCreation - c.printed.CacheCreation,
		CacheRead: c.process.CacheRead - c.printed.CacheRead, CostUSD: max(0, c.process.CostUSD-c.printed.CostUSD),
	}
	c.all = c.all.Add(since)
	if c.newer {
		c.print(paidSince(c.all, since))
	} else {
		c.print(paid(c.process))
	}
	c.printed, c.open = c.process, outcome.Usage{}
}

func (c *conversation) next() {
	c.want = c.want.Add(c.printed).Add(c.open)
	c.process, c.printed, c.open = outcome.Usage{}, outcome.Usage{}, outcome.Usage{}
	before := c.tally.Facts().Usage
	c.tally.NextProcess(rapid.Bool().Draw(c.rt, "after a limit"))
	if now := c.tally.Facts().Usage; now != before {
		c.rt.Fatalf("usage goes from %+v to %+v with the next process", before, now)
	}
}

// agentLines are events about one sub-agent.
type agentLines struct{ id string }

func (a agentLines) starts() string {
	return fmt.Sprintf(`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":%q,"name":"Agent","input":{}}]}}`, a.id) + "\n" +
		fmt.Sprintf(`{"type":"system","subtype":"task_started","task_type":"local_agent","task_id":"t%s","tool_use_id":%q}`, a.id, a.id) + "\n"
}

func (a agentLines) ends(status, more string) string {
	return fmt.Sprintf(`{"type":"system","subtype":"task_notification","task_id":"t%s","tool_use_id":%q,"status":%q%s}`, a.id, a.id, status, more) + "\n"
}

// edits is one edit of a file, number n of the agent.
func (a agentLines) edits(n int, tool, file string, failed bool) string {
	call := fmt.Sprintf("%s-%d", a.id, n)
	parent := "null"
	if a.id != "" {
		parent = `"` + a.id + `"`
	}
	key := "file_path"
	if tool == "NotebookEdit" {
		key = "notebook_path"
	}
	return fmt.Sprintf(`{"type":"assistant","parent_tool_use_id":%s,"message":{"id":"m","content":[{"type":"tool_use","id":%q,"name":%q,"input":{%q:%q}}]}}`, parent, call, tool, key, file) + "\n" +
		fmt.Sprintf(`{"type":"user","parent_tool_use_id":%s,"message":{"content":[{"type":"tool_result","tool_use_id":%q,"is_error":%v,"content":"x"}]}}`, parent, call, failed) + "\n"
}

func (a agentLines) editsAll(tool string, failed bool, files ...string) string {
	var b strings.Builder
	for i, f := range files {
		b.WriteString(a.edits(i, tool, f, failed))
	}
	return b.String()
}

func TestAgents(t *testing.T) {
	t.Parallel()
	a, b, coordinator := agentLines{"a"}, agentLines{"b"}, agentLines{""}
	const busy, idle = `,"usage":{"total_tokens":50,"tool_uses":1,"duration_ms":1}`, `,"usage":{"total_tokens":0,"tool_uses":0,"duration_ms":1}`
	refused := `{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"r","name":"Agent","input":{}}]}}` + "\n" +
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"r","is_error":true,"content":"no"}]}}` + "\n"
	tests := []struct {
		name, lines string
		want        outcome.Agents
	}{
		{"none", worked(result(success)), outcome.Agents{}},
		{"complete", a.starts() + a.ends("completed", busy), outcome.Agents{Complete: 1}},
		{"complete without usage", a.starts() + a.ends("completed", ""), outcome.Agents{Complete: 1}},
		{"failed", a.starts() + a.ends("failed", busy), outcome.Agents{Failed: 1}},
		{"died of an API error in the older CLI", a.starts() + a.ends("completed", idle), outcome.Agents{Failed: 1}},
		{"stopped", a.starts() + a.ends("stopped", busy), outcome.Agents{Partial: 1}},
		{"never ended", a.starts(), outcome.Agents{Partial: 1}},
		{"refused", refused, outcome.Agents{}},
		{"a shell is none", `{"type":"system","subtype":"task_started","task_type":"local_bash","task_id":"x","tool_use_id":"s"}` + "\n" + agentLines{"s"}.ends("failed", ""), outcome.Agents{}},
		{"an end without a start", a.ends("failed", busy), outcome.Agents{}},
		{"two", a.starts() + b.starts() + b.ends("failed", busy) + a.ends("completed", busy), outcome.Agents{Complete: 1, Failed: 1}},
		{"told twice", a.starts() + a.ends("completed", busy) + a.ends("completed", busy), outcome.Agents{Complete: 1}},

		{"spiral", a.starts() + a.editsAll("Edit", false, "x", "x", "x") + a.ends("completed", busy), outcome.Agents{Complete: 1, Spiral: 1}},
		{"spiral of different tools", a.starts() + a.edits(1, "Edit", "x", false) + a.edits(2, "Write", "x", false) + a.edits(3, "MultiEdit", "x", false), outcome.Agents{Partial: 1, Spiral: 1}},
		{"spiral in a notebook", a.starts() + a.editsAll("NotebookEdit", false, "x", "x", "x"), outcome.Agents{Partial: 1, Spiral: 1}},
		{"two edits are none", a.starts() + a.editsAll("Edit", false, "x", "x") + a.ends("completed", busy), outcome.Agents{Complete: 1}},
		{"failed edits do not count", a.starts() + a.edits(1, "Edit", "x", false) + a.edits(2, "Edit", "x", true) + a.edits(3, "Edit", "x", false), outcome.Agents{Partial: 1}},
		{"only failed edits", a.starts() + a.editsAll("Edit", true, "x", "x", "x", "x"), outcome.Agents{Partial: 1}},
		{"two files do not add up", a.starts() + a.editsAll("Edit", false, "x", "y", "x", "y"), outcome.Agents{Partial: 1}},
		{"two agents do not add up", a.starts() + b.starts() + a.editsAll("Edit", false, "x", "x") + b.editsAll("Edit", false, "x", "x"), outcome.Agents{Partial: 2}},
		{"one agent counts once", a.starts() + a.editsAll("Edit", false, "x", "x", "x", "x", "y", "y", "y"), outcome.Agents{Partial: 1, Spiral: 1}},
		{"the coordinator's own edits", coordinator.editsAll("Edit", false, "x", "x", "x", "x"), outcome.Agents{}},
		{"reading is no edit", a.starts() + a.editsAll("Read", false, "x", "x", "x", "x"), outcome.Agents{Partial: 1}},
		{"edits without an outcome", a.starts() + strings.Repeat(strings.SplitAfter(a.edits(1, "Edit", "x", false), "\n")[0], 3), outcome.Agents{Partial: 1}},
		{"both spiral", a.starts() + b.starts() + a.editsAll("Edit", false, "x", "x", "x") + b.editsAll("Edit", false, "x", "x", "x"), outcome.Agents{Partial: 2, Spiral: 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := tally(t, decode(t, initLine+tt.lines)...)
			if diff := cmp.Diff(tt.want, f.Agents); diff != "" {
				t.Errorf("agents (-want +got):\n%s", diff)
			}
			if want := tt.want.Complete + tt.want.Partial + tt.want.Failed; f.Agents.Started() != want {
				t.Errorf("%d started, want %d", f.Agents.Started(), want)
			}
		})
	}
}

// TestAgentsOverProcesses is a session of several prompts: agents add up, those
// that a limit cut off did not fail, and a file that is edited on in the next
// process is edited on.
func TestAgentsOverProcesses(t *testing.T) {
	t.Parallel()
	a, b, c := agentLines{"a"}, agentLines{"b"}, agentLines{"c"}
	first := initLine + a.starts() + a.ends("completed", "") + b.starts() + b.ends("failed", "") + c.starts() + c.ends("completed", `,"usage":{"total_tokens":0}`)
	for _, tt := range []struct {
		afterLimit bool
		want       outcome.Agents
	}{{false, outcome.Agents{Complete: 2, Failed: 2}}, {true, outcome.Agents{Complete: 2, Partial: 2}}} {
		ta := outcome.NewTally()
		observe(t, ta, first)
		ta.NextProcess(tt.afterLimit)
		observe(t, ta, initLine+agentLines{"d"}.starts()+agentLines{"d"}.ends("completed", ""))
		if diff := cmp.Diff(tt.want, ta.Facts().Agents); diff != "" {
			t.Errorf("after a limit %v (-want +got):\n%s", tt.afterLimit, diff)
		}
	}
}

// TestToolsRunning tells the watch which clock holds.
func TestToolsRunning(t *testing.T) {
	t.Parallel()
	call := func(id string) string {
		return fmt.Sprintf(`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":%q,"name":"Bash","input":{}}]}}`, id) + "\n"
	}
	done := func(id string) string {
		return fmt.Sprintf(`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":%q,"content":"x"}]}}`, id) + "\n"
	}
	ta := outcome.NewTally()
	for i, step := range []struct {
		lines string
		want  int
	}{
		{initLine, 0},
		{call("a") + call("b"), 2},
		{done("a"), 1},
		{done("unknown"), 1},
		{done("b"), 0},
		{call("c"), 1},
		{call("c"), 1},
		{result(success) + "\n", 0},
		{call("d"), 1},
	} {
		observe(t, ta, step.lines)
		if got := ta.Facts().ToolsRunning; got != step.want {
			t.Errorf("step %d: %d tools run, want %d", i, got, step.want)
		}
	}
	ta.NextProcess(false)
	if f := ta.Facts(); f.ToolsRunning != 0 || f.ToolUses != 5 {
		t.Errorf("next process: %d tools run, %d were called; want 0 and 5", f.ToolsRunning, f.ToolUses)
	}
}

// TestAuthFailedOnlyOfTheMainConversation: a sub-agent with a model of its own
// may be refused without the session being useless.
func TestAuthFailedOnlyOfTheMainConversation(t *testing.T) {
	t.Parallel()
	tests := []struct {
		line string
		want bool
	}{
		{`{"type":"assistant","error":"authentication_failed"}`, true},
		{`{"type":"assistant","error":"oauth_org_not_allowed"}`, true},
		{`{"type":"assistant","error":"unknown","api_error_status":401}`, true},
		{`{"type":"assistant","error":"authentication_failed","parent_tool_use_id":"a"}`, false},
		{`{"type":"assistant","error":"server_error","api_error_status":529}`, false},
		{`{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":401,"error":"authentication_failed","retry_delay_ms":512.7}`, true},
		{`{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":529,"error":"overloaded","retry_delay_ms":512.7}`, false},
		{`{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"error_status":null,"error":"unknown","retry_delay_ms":512.7}`, false},
	}
	for _, tt := range tests {
		if got := outcome.NewTally().Observe(decode(t, tt.line)[0]).AuthFailed; got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.line, got, tt.want)
		}
	}
}

func TestRetry(t *testing.T) {
	t.Parallel()
	line := `{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"error_status":529,"error":"overloaded","retry_delay_ms":1500.5}`
	got := outcome.NewTally().Observe(decode(t, line)[0]).Retry
	want := &outcome.Retry{Attempt: 2, Max: 10, Status: 529, Kind: "overloaded", Delay: 1500 * time.Millisecond}
	if diff := cmp.Diff(want, got, cmpopts.EquateApproxTime(time.Millisecond), cmp.Transformer("ms", func(d time.Duration) int64 { return d.Milliseconds() })); diff != "" {
		t.Errorf("retry (-want +got):\n%s", diff)
	}
}

// TestTallyFromSeveralGoroutines is for the race detector: the reader of the pty
// observes while the watch asks.
func TestTallyFromSeveralGoroutines(t *testing.T) {
	t.Parallel()
	events := recorded(t, newer, "agents-background")
	ta := outcome.NewTally()
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, e := range events {
			ta.Observe(e)
		}
	})
	wg.Go(func() {
		for range 200 {
			ta.Facts()
		}
	})
	wg.Wait()
	if got := ta.Facts().Agents; got.Complete != 2 {
		t.Errorf("got %+v, want two that completed", got)
	}
}
