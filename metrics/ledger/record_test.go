package ledger

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestStamp(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 5*3600+1800)
	tests := []struct {
		name string
		at   time.Time
		want string
	}{
		{"whole seconds", time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC), `"2026-09-01T10:00:00.000Z"`},
		{"one decimal", time.Date(2026, 9, 1, 10, 0, 0, 500e6, time.UTC), `"2026-09-01T10:00:00.500Z"`},
		{"nanoseconds are cut", time.Date(2026, 9, 1, 10, 0, 0, 999_999_999, time.UTC), `"2026-09-01T10:00:00.999Z"`},
		{"another zone", time.Date(2026, 9, 1, 4, 0, 0, 120e6, east), `"2026-08-31T22:30:00.120Z"`},
		{"zero", time.Time{}, `null`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(Stamp(tt.at))
			if err != nil || string(got) != tt.want {
				t.Fatalf("got %s, %v, want %s", got, err, tt.want)
			}
			var back Stamp
			if err := json.Unmarshal(got, &back); err != nil {
				t.Fatal(err)
			}
			if want := tt.at.Truncate(time.Millisecond); !time.Time(back).Equal(want) {
				t.Errorf("read back %v, want %v", time.Time(back), want)
			}
		})
	}
}

func TestStampRoundTrip(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"$`)
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(0, 200*365*24*3600*1000).Draw(t, "ms"))
		data, err := json.Marshal(Stamp(at.Add(time.Duration(rapid.IntRange(0, 999_999).Draw(t, "ns")))))
		if err != nil || !form.Match(data) {
			t.Fatalf("got %s, %v, want exactly three decimals", data, err)
		}
		var back Stamp
		if err := json.Unmarshal(data, &back); err != nil || !time.Time(back).Equal(at) {
			t.Fatalf("%s reads as %v, %v, want %v", data, time.Time(back), err, at)
		}
	})
}

func TestStampReadsOtherWriters(t *testing.T) {
	t.Parallel()
	want := time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)
	for text, at := range map[string]time.Time{
		`"2026-09-01T10:00:00Z"`: want, `"2026-09-01T10:00:00.000000Z"`: want, `"2026-09-01T12:00:00+02:00"`: want, `null`: {}, `""`: {},
	} {
		var got Stamp
		if err := json.Unmarshal([]byte(text), &got); err != nil || !time.Time(got).Equal(at) {
			t.Errorf("%s: got %v, %v, want %v", text, time.Time(got), err, at)
		}
	}
	for _, text := range []string{`"yesterday"`, `5`, `{}`, `"2026-09-01"`, `"2026-02-30T10:00:00Z"`} {
		if err := new(Stamp).UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s was read as a time", text)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	a := Tokens{Input: 1, Output: 20, CacheCreation: 300, CacheRead: 4000}
	if got := a.Budgeted(); got != 321 {
		t.Errorf("got %d, want 321: cache reads do not count", got)
	}
	if diff := cmp.Diff(Tokens{2, 40, 600, 8000}, a.Add(a)); diff != "" {
		t.Errorf("sum (-want +got):\n%s", diff)
	}
}

// keysOf returns the keys of an object in the order in which they stand there.
func keysOf(t *testing.T, data []byte) []string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	var keys []string
	for depth, expectKey := 0, false; ; {
		tok, err := dec.Token()
		if err != nil {
			return keys
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
			expectKey = depth == 1
			continue
		case json.Delim('}'), json.Delim(']'):
			depth--
			expectKey = depth == 1
			continue
		}
		if depth != 1 {
			continue
		}
		if expectKey {
			keys = append(keys, tok.(string))
		}
		expectKey = !expectKey
	}
}

func runKeys() []string {
	return []string{
		"schema_version", "autopilot_run_id", "started_at", "completed_at", "duration_seconds", "max_sessions", "max_hours",
		"confidence_threshold", "iterations_completed", "kill_switch", "kill_switch_detail", "sessions", "host_class",
		"resource_verdict_at_start", "fallback_to_manual", "dry_run", "total_tokens_used", "worktree_path", "parent_run_id",
		"stall_recovery_count", "blocked_by_issue", "aborted_by_cohort", "spiral_recovery_count",
	}
}

func fullRun() Run {
	return Run{
		SchemaVersion: RunSchema, AutopilotRunID: "main-2026-09-01-1000-autopilot",
		StartedAt: Stamp(time.Date(2026, 9, 1, 10, 0, 0, 0, time.UTC)), CompletedAt: Stamp(time.Date(2026, 9, 1, 12, 10, 4, 0, time.UTC)),
		DurationSeconds: 7804, MaxSessions: 5, MaxHours: 4, ConfidenceThreshold: 0.85, IterationsCompleted: 3,
		KillSwitch: new("carryover-too-high"), KillSwitchDetail: new("carryover/planned=0.625 > threshold=0.5 (carryover=5, planned=8)"),
		Sessions: []string{"a", "b", "c"}, HostClass: new("linux-x86_64"), ResourceVerdictAtStart: new("green"),
		Endings: []Ending{}, Caps: []Cap{}, Goal: "a goal", ClaudeVersion: "2.1.330",
	}
}

// TestRunKeys holds for a record with everything and for one with nothing: no
// field of the format may be left out.
func TestRunKeys(t *testing.T) {
	t.Parallel()
	for _, rec := range []Run{fullRun(), {}} {
		data, err := encode(rec)
		if err != nil {
			t.Fatal(err)
		}
		got := keysOf(t, data)
		if diff := cmp.Diff(runKeys(), got[:min(len(got), 23)]); diff != "" {
			t.Errorf("first 23 keys (-want +got):\n%s", diff)
		}
		if len(slices.Compact(slices.Sorted(slices.Values(got)))) != len(got) {
			t.Errorf("a key stands there twice: %v", got)
		}
	}
}

// TestRunExample is the example of the format: what other programs wrote down as
// the record of such a run.
func TestRunExample(t *testing.T) {
	t.Parallel()
	const want = `{"schema_version":1,"autopilot_run_id":"main-2026-09-01-1000-autopilot","started_at":"2026-09-01T10:00:00.000Z",` +
		`"completed_at":"2026-09-01T12:10:04.000Z","duration_seconds":7804,"max_sessions":5,"max_hours":4,"confidence_threshold":0.85,` +
		`"iterations_completed":3,"kill_switch":"carryover-too-high","kill_switch_detail":"carryover/planned=0.625 > threshold=0.5 (carryover=5, planned=8)",` +
		`"sessions":["a","b","c"],"host_class":"linux-x86_64","resource_verdict_at_start":"green","fallback_to_manual":false,"dry_run":false,` +
		`"total_tokens_used":0,"worktree_path":null,"parent_run_id":null,"stall_recovery_count":0,"blocked_by_issue":null,"aborted_by_cohort":false,"spiral_recovery_count":0,`
	data, err := encode(fullRun())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(data), want) {
		t.Errorf("got  %s\nwant %s...", data, want)
	}
	var back Run
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	again, err := encode(back)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(data), string(again)); diff != "" {
		t.Errorf("a record that was read is written differently:\n%s", diff)
	}
}

// valid is a record of schema 2 as session-orchestrator writes it.
func valid() map[string]any {
	return map[string]any{
		"schema_version": 2, "session_id": "main-2026-09-01-deep-1", "session_type": "deep", "platform": "claude",
		"started_at": "2026-09-01T10:00:00Z", "completed_at": "2026-09-01T11:02:09.120Z", "duration_seconds": 3729, "total_waves": 5,
		"total_agents": 18, "total_files_changed": 41, "agent_summary": map[string]any{"complete": 17, "partial": 1, "failed": 0, "spiral": 0},
		"waves":         []any{map[string]any{"wave": 1, "role": "Discovery", "agent_count": 4, "files_changed": 0, "quality": "skip"}},
		"effectiveness": map[string]any{"planned_issues": 6, "completed": 5, "carryover": 1, "emergent": 2, "completion_rate": 0.83}, "total_token_input": nil,
		"total_token_output": nil, "subagents_with_tokens": 0, "autopilot_run_id": "main-2026-09-01-1000-autopilot",
	}
}

type object = map[string]any

func TestProblems(t *testing.T) {
	t.Parallel()
	const stamp = "is not UTC with whole seconds or three decimals"
	type row struct {
		key  string
		give []any  // each of them alone
		want string // the problem; empty for none
	}
	missing := struct{}{}
	bad := func(key, want string, give ...any) row { return row{key, give, key + ": " + want} }
	good := func(key string, give ...any) row { return row{key: key, give: give} }
	atLeast0 := "not a number of at least 0"
	tests := []row{
		good("session_id", "x", " "), bad("session_id", "not a non-empty string", "", nil, 5, missing, []any{}),
		good("session_type", "feature", "deep", "housekeeping"),
		bad("session_type", `"plan-retro" is none of feature, deep, housekeeping`, "plan-retro"), bad("session_type", `"Deep" is none of feature, deep, housekeeping`, "Deep"),
		bad("session_type", `"" is none of feature, deep, housekeeping`, "", nil, missing, 3),
		good("started_at", "2026-09-01T11:02:09Z", "2026-09-01T11:02:09.120Z", "2026-09-01T10:00:00.000Z"),
		bad("started_at", `"" `+stamp, "", nil, missing, 5),
		bad("completed_at", `"2026-09-01T11:02:09.1Z" `+stamp, "2026-09-01T11:02:09.1Z"), bad("completed_at", `"2026-09-01T11:02:09.120000Z" `+stamp, "2026-09-01T11:02:09.120000Z"),
		bad("completed_at", `"2026-09-01T13:02:09+02:00" `+stamp, "2026-09-01T13:02:09+02:00"), bad("completed_at", `"2026-09-01T11:02:09" `+stamp, "2026-09-01T11:02:09"),
		bad("completed_at", `"2026-09-01 11:02:09Z" `+stamp, "2026-09-01 11:02:09Z"), bad("completed_at", `"2026-13-01T11:02:09Z" `+stamp, "2026-13-01T11:02:09Z"),
		bad("completed_at", `"2026-09-01T11:02:09.120z" `+stamp, "2026-09-01T11:02:09.120z"), bad("completed_at", `"2026-09-01T11:02:09,120Z" `+stamp, "2026-09-01T11:02:09,120Z"),
		bad("completed_at", `"2026-09-01T11:02:09Z\n" `+stamp, "2026-09-01T11:02:09Z\n"), bad("completed_at", "before started_at", "2026-09-01T09:59:59.999Z"),
		good("completed_at", "2026-09-01T10:00:00.000Z", "2026-09-01T10:00:00Z"),
		good("total_waves", 0, 1, 2.5), bad("total_waves", atLeast0, -1, "1", nil, missing, true),
		good("total_agents", 0), bad("total_agents", atLeast0, -1, "1", nil, missing), good("total_files_changed", 0), bad("total_files_changed", atLeast0, -0.5, "1", nil, missing),
		good("waves", []any{}), bad("waves", "not an array", nil, missing, object{}, "x"),
		{"waves", []any{[]any{object{"wave": 0, "role": "x"}}, []any{object{"wave": "1", "role": "x"}}, []any{object{"role": "x"}}}, "waves[0].wave: not a number of at least 1"},
		{"waves", []any{[]any{object{"wave": 1, "role": "x"}, object{"wave": 2, "role": ""}}, []any{object{"wave": 1, "role": "x"}, object{"wave": 2}}}, "waves[1].role: not a non-empty string"},
		{"waves", []any{[]any{"x"}, []any{nil}}, "waves[0].wave: not a number of at least 1; waves[0].role: not a non-empty string"},
		bad("agent_summary", "not an object", nil, missing, []any{}, "x"),
		{
			"agent_summary",
			[]any{object{"complete": 1, "partial": 1, "failed": 1}, object{"complete": 1, "partial": 1, "failed": 1, "spiral": -1}, object{"complete": 1, "partial": 1, "failed": 1, "spiral": "0"}},
			"agent_summary.spiral: " + atLeast0,
		},
		{"agent_summary", []any{object{}}, "agent_summary.complete: " + atLeast0 + "; agent_summary.partial: " + atLeast0 + "; agent_summary.failed: " + atLeast0 + "; agent_summary.spiral: " + atLeast0},
		good("schema_version", 0, 1, 2, 3, missing, nil), bad("schema_version", "4 is none of 0 to 3", 4), bad("schema_version", "2 is none of 0 to 3", "2"),
		bad("schema_version", "2.5 is none of 0 to 3", 2.5), bad("schema_version", "-1 is none of 0 to 3", -1),
		good("duration_seconds", 0, 1.5, nil, missing), bad("duration_seconds", atLeast0, -1, "1"),
		bad("lease_acquired_at", "not UTC with whole seconds or three decimals", "2026-09-01T10:00:00.1Z", 5, "", "x"), good("lease_acquired_at", "2026-09-01T10:00:00Z", nil),
		good("expected_cost_tier", "quick", "standard", "deep", nil), bad("expected_cost_tier", "not quick, standard or deep", "cheap", "", 1),
		good("status", "completed", "abandoned", nil, missing), bad("status", "not completed or abandoned", "failed", "", 5, object{}),
		good("_backfill_source", "x", nil), bad("_backfill_source", "not a non-empty string", "", 5, true),
		good("_backfill_incomplete_fields", []any{}, []any{"a"}, nil), bad("_backfill_incomplete_fields", "not an array of strings", "a", []any{1}, []any{nil}),
		good("autopilot_run_id", "x", "", nil, 5, missing), good("something_else", 5, nil, object{}),
	}
	for _, f := range []string{"effectiveness", "discovery_stats", "review_stats"} {
		tests = append(tests, good(f, object{}, nil, missing), bad(f, "not an object", []any{}, "x", 5))
	}
	for _, f := range []string{"platform", "branch", "base_branch", "notes"} {
		tests = append(tests, good(f, "", "x", nil, missing), bad(f, "not a string", 5, object{}, true))
	}
	for _, f := range []string{"agent_identity", "worktree_path", "parent_run_id"} {
		tests = append(tests, good(f, "x", nil, missing), bad(f, "not a non-empty string", "", 5, []any{}))
	}
	for _, f := range []string{"total_token_input", "total_token_output", "lease_ttl_seconds"} {
		tests = append(tests, good(f, 0, 2.5, nil, missing), bad(f, atLeast0, -1, "5"))
	}
	for _, f := range []string{"subagents_with_tokens", "open_questions_asked", "open_questions_answered", "open_questions_deferred"} {
		tests = append(tests, good(f, 0, 3, nil, missing), bad(f, "not a whole number of at least 0", -1, 2.5, "5"))
	}
	for _, f := range []string{"issues_closed", "issues_created"} {
		tests = append(tests, good(f, []any{}, []any{1, 2}, missing), bad(f, "not an array of numbers", nil, "1", []any{"1"}, []any{1, nil}, object{}))
	}
	for _, f := range []string{"_session_type_inferred", "_synthetic_session_id"} {
		tests = append(tests, good(f, true, false, nil, missing), bad(f, "not true or false", "true", 1))
	}
	for _, tt := range tests {
		for _, v := range tt.give {
			rec := valid()
			if rec[tt.key] = v; v == missing {
				delete(rec, tt.key)
			}
			line, err := json.Marshal(rec)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(Problems(line), "; "); got != tt.want {
				t.Errorf("%s = %#v: got %q, want %q", tt.key, v, got, tt.want)
			}
		}
	}
}

func TestProblemsOfALine(t *testing.T) {
	t.Parallel()
	line, err := json.Marshal(valid())
	if err != nil {
		t.Fatal(err)
	}
	if got := Problems(line); got != nil {
		t.Errorf("a valid record: got %v", got)
	}
	for _, text := range []string{"", "null", "5", `"x"`, "[]", "[{}]", "{", string(line) + "x", string(line[:len(line)-1])} {
		if diff := cmp.Diff([]string{"record: not a JSON object"}, Problems([]byte(text))); diff != "" {
			t.Errorf("%.20q (-want +got):\n%s", text, diff)
		}
	}
	if got := len(Problems([]byte("{}"))); got != 9 {
		t.Errorf("an empty object has %d problems, want one for each required field", got)
	}
	upper := bytes.Replace(line, []byte(`"session_id"`), []byte(`"Session_ID"`), 1)
	if diff := cmp.Diff([]string{"session_id: not a non-empty string"}, Problems(upper)); diff != "" {
		t.Errorf("names are exact (-want +got):\n%s", diff)
	}
}

// anySession draws a record as this program fills it, with the corners of each
// value.
func anySession(t *rapid.T) Session {
	count := rapid.IntRange(0, 1<<31)
	words := rapid.OneOf(rapid.Just(""), rapid.String())
	start := time.Unix(0, rapid.Int64Range(1, 1<<61).Draw(t, "start"))
	length := rapid.OneOf(rapid.Just(time.Duration(0)), rapid.Just(time.Nanosecond), rapid.Map(rapid.Int64Range(0, int64(48*time.Hour)), func(n int64) time.Duration { return time.Duration(n) })).Draw(t, "length")
	s := Session{
		SchemaVersion: SessionSchema, SessionID: rapid.StringN(1, 40, -1).Draw(t, "id"), SessionType: rapid.SampledFrom(SessionTypes()).Draw(t, "type"),
		Platform: words.Draw(t, "platform"), Branch: words.Draw(t, "branch"), StartedAt: Stamp(start), CompletedAt: Stamp(start.Add(length)),
		DurationSeconds: int64(length.Round(time.Second).Seconds()), TotalWaves: count.Draw(t, "waves"), Waves: []Wave{},
		AgentSummary: Agents{count.Draw(t, "complete"), count.Draw(t, "partial"), count.Draw(t, "failed"), count.Draw(t, "spiral")},
		TotalAgents:  count.Draw(t, "agents"), TotalFilesChanged: count.Draw(t, "files"), Status: rapid.SampledFrom([]string{StatusCompleted, StatusAbandoned}).Draw(t, "status"),
		AutopilotRunID: words.Draw(t, "run"), Ending: words.Draw(t, "ending"), EndingCause: words.Draw(t, "cause"), Summary: words.Draw(t, "summary"),
		CostUSD: rapid.Float64Range(0, 1e9).Draw(t, "cost"), Commits: rapid.SliceOfN(words, 0, 3).Draw(t, "commits"), Recovered: rapid.Bool().Draw(t, "recovered"),
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "n") {
		s.Waves = append(s.Waves, Wave{Wave: i + 1, Role: "r", AgentCount: i})
	}
	if rapid.Bool().Draw(t, "tokens") {
		s.TokenInput, s.TokenOutput = new(rapid.Int64Range(0, 1<<50).Draw(t, "in")), new(rapid.Int64Range(0, 1<<50).Draw(t, "out"))
	}
	if rapid.Bool().Draw(t, "effectiveness") {
		s.Effectiveness = &Effectiveness{PlannedIssues: count.Draw(t, "planned"), Completed: count.Draw(t, "done")}
		if rapid.Bool().Draw(t, "carried") {
			s.Effectiveness.Carryover, s.Effectiveness.CompletionRate = new(count.Draw(t, "carryover")), new(rapid.Float64Range(0, 1).Draw(t, "rate"))
		}
	}
	if rapid.Bool().Draw(t, "caps") {
		s.Caps = []Cap{{SessionID: s.SessionID, At: Stamp(start), Tier: "warn", Cap: 4, Signal: "peers"}}
	}
	return s
}

func TestOurSessionRecordIsValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line, err := encode(anySession(t))
		if err != nil {
			t.Fatal(err)
		}
		if p := Problems(line); p != nil {
			t.Fatalf("%s: %v", line, p)
		}
		if bytes.ContainsRune(line, '\n') {
			t.Fatalf("%s is not one line", line)
		}
		var rec map[string]any
		if err := json.Unmarshal(line, &rec); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"total_token_input", "total_token_output", "autopilot_run_id", "waves", "agent_summary"} {
			if _, ok := rec[key]; !ok {
				t.Fatalf("%s is missing among %v", key, slices.Collect(maps.Keys(rec)))
			}
		}
	})
}
