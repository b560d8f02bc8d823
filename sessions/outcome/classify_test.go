package outcome_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/sessions/outcome"
)

// run is what one process printed and how it ended, in the words of the CLI.
type run struct {
	lines string
	exit  outcome.Exit
}

const initLine = `{"type":"system","subtype":"init","session_id":"s","claude_code_version":"2.1.330"}` + "\n"

// worked is a process that used a tool before it printed the result.
func worked(result string) string {
	return initLine +
		`{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]}}` + "\n" +
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"ok"}]}}` + "\n" +
		result + "\n"
}

func result(fields string) string { return `{"type":"result","num_turns":2,` + fields + `}` }

// apiError is a process whose main request ended in an API error of that
// category; status is JSON.
func apiError(category, status, more string) string {
	return initLine +
		`{"type":"assistant","error":"` + category + `","api_error_status":` + status + `,"message":{"id":"m1","content":[{"type":"text","text":"API Error"}]}}` + "\n" +
		result(`"subtype":"success","is_error":true,"api_error_status":`+status+`,"result":"API Error"`+more) + "\n"
}

func rateLimit(fields string) string {
	return `{"type":"rate_limit_event","rate_limit_info":{` + fields + `}}` + "\n"
}

func classify(t *testing.T, r run) outcome.End {
	t.Helper()
	return outcome.Classify(tally(t, decode(t, r.lines)...), r.exit)
}

const (
	success = `"subtype":"success","is_error":false,"result":"done"`
	failed1 = 1
)

func TestClassifyResults(t *testing.T) {
	t.Parallel()
	completed := result(success + `,"terminal_reason":"completed"`)
	tests := []struct {
		name string
		run  run
		want outcome.Ending
		says string // part of the cause
	}{
		{"normal end", run{lines: worked(completed)}, outcome.Completed, ""},
		{"normal end without a terminal reason", run{lines: worked(result(success))}, outcome.Completed, ""},
		{"changes without a tool", run{lines: initLine + completed, exit: outcome.Exit{Changed: true}}, outcome.Completed, ""},
		{"asks for a person", run{lines: initLine + completed, exit: outcome.Exit{Asked: true}}, outcome.Completed, ""},
		{"report and tool without an answer", run{lines: worked(result(`"subtype":"success","is_error":false,"result":"","structured_output":{"a":1}`))}, outcome.Completed, ""},
		{"nothing done", run{lines: initLine + completed}, outcome.NoWork, "no tool"},
		{"only the report", run{lines: initLine +
			`{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"StructuredOutput","input":{}}]}}` + "\n" +
			result(success+`,"structured_output":{"a":1}`)}, outcome.NoWork, "no tool"},
		{"empty success", run{lines: worked(result(`"subtype":"success","is_error":false,"result":"","terminal_reason":"completed"`))}, outcome.NoWork, "empty answer"},
		{
			"empty success after changes",
			run{lines: worked(result(`"subtype":"success","is_error":false,"result":""`)), exit: outcome.Exit{Changed: true}},
			outcome.Failed, "empty answer",
		},
		{"prompt blocked by a hook", run{lines: initLine + `{"type":"result","subtype":"success","is_error":false,"num_turns":0,"result":"blocked"}`}, outcome.NoWork, "no turn"},
		{
			"unknown slash command",
			run{lines: initLine + `{"type":"result","subtype":"success","is_error":false,"num_turns":0,"result":"Unknown command: /nope"}`},
			outcome.NoWork, "no turn",
		},
		{"stop hook prevented", run{lines: worked(result(success + `,"terminal_reason":"stop_hook_prevented"`))}, outcome.Failed, "stop_hook_prevented"},
		{"hook stopped", run{lines: worked(result(`"subtype":"success","is_error":false,"result":"","terminal_reason":"hook_stopped"`)), exit: outcome.Exit{Changed: true}}, outcome.Failed, ""},
		{"hook stopped with an answer", run{lines: worked(result(success + `,"terminal_reason":"hook_stopped"`))}, outcome.Failed, "hook_stopped"},
		{
			"max turns",
			run{lines: worked(result(`"subtype":"error_max_turns","is_error":true,"terminal_reason":"max_turns"`)), exit: outcome.Exit{Code: failed1}},
			outcome.Failed, "error_max_turns",
		},
		{
			"report never valid",
			run{lines: worked(result(`"subtype":"error_max_structured_output_retries","is_error":true,"terminal_reason":"structured_output_retry_exhausted"`)), exit: outcome.Exit{Code: failed1}},
			outcome.Failed, "error_max_structured_output_retries",
		},
		{
			"max tokens again and again",
			run{lines: worked(result(`"subtype":"success","is_error":true,"stop_reason":"max_tokens","result":"cut"`)), exit: outcome.Exit{Code: failed1}},
			outcome.Failed, "",
		},
		{
			"image error",
			run{lines: worked(result(`"subtype":"success","is_error":true,"terminal_reason":"image_error","result":"x"`)), exit: outcome.Exit{Code: failed1}},
			outcome.Failed, "image_error",
		},
		{
			"interrupted while streaming",
			run{lines: initLine + result(`"subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming"`)},
			outcome.Cancelled, "aborted_streaming",
		},
		{
			"interrupted in a tool",
			run{lines: worked(result(`"subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools"`)), exit: outcome.Exit{Code: failed1}},
			outcome.Cancelled, "aborted_tools",
		},
		{
			"no such session",
			run{lines: result(`"subtype":"error_during_execution","is_error":true,"errors":["No conversation found"]`), exit: outcome.Exit{Code: failed1}},
			outcome.Failed, "error_during_execution",
		},
		{
			"start-up failure",
			run{lines: result(`"subtype":"error_during_execution","is_error":true,"startup_failure_reason":"config_file_invalid"`), exit: outcome.Exit{Code: failed1}},
			outcome.Failed, "config_file_invalid",
		},
		{"flag error", run{exit: outcome.Exit{Code: failed1}}, outcome.Failed, "did not start, exit status 1"},
		{"exit 0 without output", run{}, outcome.Crashed, "exit status 0 without a result"},
		{"exit 0 without a result", run{lines: initLine}, outcome.Cancelled, "interrupted from outside (exit status 0 without a result)"},
		{"exit 1 without a result", run{lines: initLine, exit: outcome.Exit{Code: failed1}}, outcome.Crashed, "exit status 1 without a result"},
		{"terminated by another", run{lines: initLine, exit: outcome.Exit{Code: 143}}, outcome.Crashed, "143"},
		{"killed by another", run{lines: initLine, exit: outcome.Exit{Code: -1, Signal: "SIGKILL"}}, outcome.Crashed, "killed by SIGKILL without a result"},
		{"killed before it printed anything", run{exit: outcome.Exit{Code: -1, Signal: "SIGKILL"}}, outcome.Crashed, "SIGKILL"},
		{"killed after its result", run{lines: worked(completed), exit: outcome.Exit{Code: -1, Signal: "SIGSEGV"}}, outcome.Crashed, "killed by SIGSEGV after its result"},
		{"exit 1 after a success", run{lines: worked(completed), exit: outcome.Exit{Code: failed1}}, outcome.Failed, "exit status 1 after a success"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := classify(t, tt.run)
			if got.Ending != tt.want || !strings.Contains(got.Cause, tt.says) || got.Budget || !got.ResetAt.IsZero() {
				t.Errorf("got %+v, want %s with a cause that says %q", got, tt.want, tt.says)
			}
			if (got.Ending == outcome.Completed) != (got.Cause == "") {
				t.Errorf("ending %s with the cause %q", got.Ending, got.Cause)
			}
		})
	}
}

func TestClassifyBudget(t *testing.T) {
	t.Parallel()
	got := classify(t, run{lines: worked(result(`"subtype":"error_max_budget_usd","is_error":true,"terminal_reason":"budget_exhausted"`)), exit: outcome.Exit{Code: failed1}})
	if got.Ending != outcome.Failed || !got.Budget {
		t.Errorf("got %+v, want failed for its budget", got)
	}
}

func TestClassifyAPIErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, category, status, more string
		want                         outcome.Ending
	}{
		{"401", "authentication_failed", "401", "", outcome.Auth},
		{"401 of a subscription", "authentication_failed", "401", `,"terminal_reason":"api_error"`, outcome.Auth},
		{"401 of no category", "unknown", "401", "", outcome.Auth},
		{"403", "authentication_failed", "403", "", outcome.Auth},
		{"403 of the organisation", "oauth_org_not_allowed", "403", "", outcome.Auth},
		{"not logged in", "authentication_failed", "null", "", outcome.Auth},
		{"404 model", "model_not_found", "404", "", outcome.Failed},
		{"400 credit", "billing_error", "400", "", outcome.Credit},
		{"400 too long", "invalid_request", "400", `,"terminal_reason":"prompt_too_long"`, outcome.Failed},
		{"400 other", "unknown", "400", "", outcome.Failed},
		{"413", "invalid_request", "413", "", outcome.Failed},
		{"429", "rate_limit", "429", "", outcome.Limited},
		{"429 of no category", "unknown", "429", "", outcome.Limited},
		{"500", "server_error", "500", "", outcome.Overloaded},
		{"502 of a proxy", "unknown", "502", "", outcome.Overloaded},
		{"529", "server_error", "529", "", outcome.Overloaded},
		{"overloaded in mid-stream", "overloaded", "null", "", outcome.Overloaded},
		{"connection refused", "server_error", "null", `,"api_error":"connection_failed"`, outcome.Overloaded},
		{"connection reset", "server_error", "null", "", outcome.Overloaded},
		{"broken answer", "unknown", "200", "", outcome.Failed},
		{"refusal", "invalid_request", "null", `,"stop_reason":"refusal"`, outcome.Failed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := classify(t, run{lines: apiError(tt.category, tt.status, tt.more), exit: outcome.Exit{Code: failed1}})
			if got.Ending != tt.want || got.Cause == "" || !got.ResetAt.IsZero() {
				t.Errorf("got %+v, want %s with a cause and no reset time", got, tt.want)
			}
			if tt.status != "null" && !strings.Contains(got.Cause, "HTTP "+tt.status) {
				t.Errorf("cause %q does not name the status %s", got.Cause, tt.status)
			}
			if waits := tt.want == outcome.Limited || tt.want == outcome.Overloaded; got.Ending.Waits() != waits {
				t.Errorf("Waits() = %v, want %v", got.Ending.Waits(), waits)
			}
		})
	}
}

func TestClassifyLimits(t *testing.T) {
	t.Parallel()
	limit := apiError("rate_limit", "429", "")
	tooLong := apiError("invalid_request", "400", `,"terminal_reason":"prompt_too_long"`)
	rejected := rateLimit(`"status":"rejected","resetsAt":1795265583,"rateLimitType":"five_hour"`)
	reset := time.Unix(1795265583, 0)
	tests := []struct {
		name, lines string
		want        outcome.Ending
		reset       time.Time
		says        string
	}{
		{"usage limit", rejected + limit, outcome.Limited, reset, "usage limit five_hour until 2026-11-21T12:53:03Z"},
		{"no reset time", limit, outcome.Limited, time.Time{}, "rate limit (HTTP 429)"},
		// Without a reset time it is the server's, not the subscription's limit.
		{"rejected without a reset time", rateLimit(`"status":"rejected","isUsingOverage":false`) + limit, outcome.Limited, time.Time{}, "rate limit"},
		{"allowed is no limit", rateLimit(`"status":"allowed"`) + tooLong, outcome.Failed, time.Time{}, "prompt_too_long"},
		{"a warning is no limit", rateLimit(`"status":"allowed_warning","utilization":0.93`) + tooLong, outcome.Failed, time.Time{}, "prompt_too_long"},
		{"the limit was over before another error", rejected + rateLimit(`"status":"allowed"`) + tooLong, outcome.Failed, time.Time{}, "prompt_too_long"},
		{"refused once, then another error", rateLimit(`"status":"rejected","isUsingOverage":false`) + tooLong, outcome.Failed, time.Time{}, "prompt_too_long"},
		{"a limit that was waited for", rejected + worked(result(success)), outcome.Completed, time.Time{}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := classify(t, run{lines: tt.lines})
			if got.Ending != tt.want || !got.ResetAt.Equal(tt.reset) || !strings.Contains(got.Cause, tt.says) {
				t.Errorf("got %+v, want %s, reset %v, a cause that says %q", got, tt.want, tt.reset, tt.says)
			}
		})
	}
}

// TestClassifyStops is why we ended the process, which counts more than what it
// printed on its way out.
func TestClassifyStops(t *testing.T) {
	t.Parallel()
	interrupted := initLine + result(`"subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming"`)
	done := worked(result(success))
	tests := []struct {
		stop  outcome.Stop
		lines string
		exit  outcome.Exit
		want  outcome.Ending
	}{
		{outcome.StopAbort, interrupted, outcome.Exit{}, outcome.Cancelled},
		{outcome.StopAbort, "", outcome.Exit{Code: -1, Signal: "SIGKILL"}, outcome.Cancelled},
		{outcome.StopAbort, done, outcome.Exit{}, outcome.Cancelled},
		{outcome.StopHung, interrupted, outcome.Exit{}, outcome.Hung},
		{outcome.StopHung, initLine, outcome.Exit{Code: 143}, outcome.Hung},
		{outcome.StopHung, initLine, outcome.Exit{Code: -1, Signal: "SIGKILL"}, outcome.Hung},
		{outcome.StopTimeout, interrupted, outcome.Exit{}, outcome.Hung},
		{outcome.StopAuth, interrupted, outcome.Exit{}, outcome.Auth},
		{outcome.StopAuth, initLine, outcome.Exit{Code: 143}, outcome.Auth},
		{outcome.StopLinger, done, outcome.Exit{}, outcome.Completed},
		{outcome.StopLinger, done, outcome.Exit{Code: 143}, outcome.Completed},
		{outcome.StopLinger, done, outcome.Exit{Code: -1, Signal: "SIGKILL"}, outcome.Completed},
		{outcome.StopLinger, initLine + result(success), outcome.Exit{Code: -1, Signal: "SIGKILL"}, outcome.NoWork},
		{outcome.StopLinger, apiError("server_error", "529", ""), outcome.Exit{Code: -1, Signal: "SIGKILL"}, outcome.Overloaded},
	}
	for _, tt := range tests {
		tt.exit.Stop = tt.stop
		got := classify(t, run{lines: tt.lines, exit: tt.exit})
		if got.Ending != tt.want || (got.Cause == "") != (got.Ending == outcome.Completed) {
			t.Errorf("%s with exit %+v after %q: got %+v, want %s", tt.stop, tt.exit, tt.lines, got, tt.want)
		}
	}
}

// TestClassifySeveralResults takes the last one that answers.
func TestClassifySeveralResults(t *testing.T) {
	t.Parallel()
	empty := `{"type":"result","subtype":"success","is_error":false,"num_turns":0,"result":"","model_usage_since_last_result":{}}` + "\n"
	answer := result(success+`,"terminal_reason":"completed"`) + "\n"
	tests := []struct {
		name, lines string
		want        outcome.Ending
		answer      string
	}{
		{"an empty one behind", worked(answer + empty + empty), outcome.Completed, "done"},
		{"an empty one in front", worked(empty + answer), outcome.Completed, "done"},
		{"another turn", worked(answer + result(`"subtype":"success","is_error":false,"result":"more"`)), outcome.Completed, "more"},
		{"an error behind", worked(answer + apiError("server_error", "529", "")), outcome.Overloaded, "API Error"},
		{"an error without turns behind", worked(answer + `{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"terminal_reason":"aborted_tools"}`), outcome.Cancelled, ""},
		{"only empty ones", worked(empty + empty), outcome.NoWork, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := tally(t, decode(t, tt.lines)...)
			if got := outcome.Classify(f, outcome.Exit{}).Ending; got != tt.want || f.Result.Result != tt.answer {
				t.Errorf("got %s with the answer %q, want %s with %q", got, f.Result.Result, tt.want, tt.answer)
			}
		})
	}
}

// TestSettled is a process that stayed after its work and was interrupted: what
// it then prints is not its answer.
func TestSettled(t *testing.T) {
	t.Parallel()
	ta := outcome.NewTally()
	for _, e := range decode(t, worked(result(success))) {
		ta.Observe(e)
	}
	ta.Settle()
	for _, e := range decode(t, result(`"subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_tools"`)) {
		ta.Observe(e)
	}
	if got := outcome.Classify(ta.Facts(), outcome.Exit{Stop: outcome.StopLinger}); got.Ending != outcome.Completed {
		t.Errorf("got %+v, want completed", got)
	}
	ta.NextProcess(true)
	for _, e := range decode(t, initLine+result(`"subtype":"error_max_turns","is_error":true`)) {
		ta.Observe(e)
	}
	if got := outcome.Classify(ta.Facts(), outcome.Exit{Code: failed1}); got.Ending != outcome.Failed {
		t.Errorf("next process: got %+v, want failed", got)
	}
}

// TestNextProcessForgets is what must not be taken from one process to the next,
// and what must.
func TestNextProcessForgets(t *testing.T) {
	t.Parallel()
	ta := outcome.NewTally()
	first := rateLimit(`"status":"rejected","resetsAt":1795265583`) + worked(result(`"subtype":"success","is_error":true,"api_error_status":429,"result":"x"`))
	for _, e := range decode(t, first) {
		ta.Observe(e)
	}
	ta.NextProcess(true)
	f := ta.Facts()
	if f.Result != nil || f.RateLimit != nil || f.APIError != "" || f.Init || f.AnsweredTurns != 0 || f.ToolsRunning != 0 {
		t.Errorf("the new process begins with %+v", f)
	}
	if f.ToolUses != 1 || f.Results != 1 || f.Version != newer {
		t.Errorf("the session has lost what it did: %+v", f)
	}
	if got := outcome.Classify(f, outcome.Exit{Code: failed1}); got.Ending != outcome.Failed {
		t.Errorf("a process that did not start: got %+v, want failed", got)
	}
}

// TestReport keeps the last report of a session as it was given.
func TestReport(t *testing.T) {
	t.Parallel()
	lines := worked(result(success+`,"structured_output":{"n": 1}`)) + result(success+`,"structured_output":{"n": 2}`) + "\n" + result(success)
	if diff := cmp.Diff(json.RawMessage(`{"n": 2}`), tally(t, decode(t, lines)...).Report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}
