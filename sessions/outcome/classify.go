package outcome

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"autopilot/sessions/stream"
)

// resultSuccess is the subtype of a turn that came to its end, also of one whose
// answer is an API error.
const resultSuccess = "success"

// Ending is how a session ended.
type Ending string

// The ten endings.
const (
	Completed  Ending = "completed"
	Failed     Ending = "failed"
	Limited    Ending = "limited"    // usage or rate limit; to be continued after its reset
	Overloaded Ending = "overloaded" // the API is in trouble; to be continued after a while
	Auth       Ending = "auth"       // the credentials were refused
	Credit     Ending = "credit"     // the account has no credit
	Cancelled  Ending = "cancelled"  // somebody interrupted it
	Hung       Ending = "hung"       // it was ended because nothing happened any more
	Crashed    Ending = "crashed"    // the process died without a result
	NoWork     Ending = "no-work"    // it ended well and did nothing
)

// Waits reports whether the conversation is to be continued after a wait.
func (e Ending) Waits() bool { return e == Limited || e == Overloaded }

// Stop is why the supervisor ended a process itself.
type Stop string

// Reasons to end a process.
const (
	StopNone    Stop = ""
	StopAbort   Stop = "abort"   // a person wants it
	StopHung    Stop = "hung"    // nothing happens any more
	StopTimeout Stop = "timeout" // the session's time is over
	StopAuth    Stop = "auth"    // retrying refused credentials is useless
	StopLinger  Stop = "linger"  // the work is over and the process stays
)

// Facts are what is known about a session.
type Facts struct {
	Events        int  // of the whole session
	Init          bool // the current process printed its first event
	Version       string
	Model         string
	Results       int
	AnsweredTurns int           // turns of the current process by its results
	Result        *stream.Event // last result that answers; nil before the first
	Report        json.RawMessage
	RateLimit     *stream.RateLimit // the rejection of the current process
	APIError      string            // category of the last API error of the current process
	Retries       int
	Denials       int
	ToolUses      int
	ToolsRunning  int
	Agents        Agents
	Usage         Usage // whole session
	Earlier       Usage // of the processes before the current one
}

// Exit is how the process ended, as far as the operating system knows.
type Exit struct {
	Code    int
	Signal  string
	Stop    Stop
	Changed bool // files or commits changed
	Asked   bool // a question to a person in the report, or an answer alone, is work enough
}

// End is an ending with its cause in words and, for a limit, its reset.
type End struct {
	Ending  Ending
	Cause   string
	ResetAt time.Time // zero when unknown
	Kind    string    // of a usage limit, as the CLI names it
	Budget  bool      // the money handed down was used up
}

func end(e Ending, format string, args ...any) End {
	return End{Ending: e, Cause: fmt.Sprintf(format, args...)}
}

// Classify decides how a session ended.
func Classify(f Facts, x Exit) End {
	switch x.Stop {
	case StopAbort:
		return end(Cancelled, "ended on request")
	case StopHung:
		return end(Hung, "nothing happened any more")
	case StopTimeout:
		return end(Hung, "the session's time was over")
	case StopAuth:
		return end(Auth, "the API refused the credentials")
	}
	if f.Result == nil {
		return withoutResult(f, x)
	}
	if f.Result.IsError {
		return failedResult(f)
	}
	return successful(f, x)
}

func withoutResult(f Facts, x Exit) End {
	switch {
	case x.Signal != "":
		return end(Crashed, "killed by %s without a result", x.Signal)
	case !f.Init && x.Code != 0:
		return end(Failed, "did not start, exit status %d", x.Code)
	case f.Init && x.Code == 0:
		// On a pty nothing gets lost; an interrupt that comes before the API has
		// begun to answer is what ends the CLI like this.
		return end(Cancelled, "interrupted from outside (exit status 0 without a result)")
	default:
		return end(Crashed, "exit status %d without a result", x.Code)
	}
}

func failedResult(f Facts) End {
	r := f.Result
	status := 0
	if r.APIErrorStatus != nil {
		status = *r.APIErrorStatus
	}
	switch {
	case r.TerminalReason == "aborted_streaming" || r.TerminalReason == "aborted_tools":
		return end(Cancelled, "interrupted from outside (%s)", r.TerminalReason)
	case r.Subtype == "error_max_budget_usd":
		e := end(Failed, "used up the budget it was given")
		e.Budget = true
		return e
	case r.Subtype != resultSuccess:
		return end(Failed, "%s", r.Subtype+reason(r.StartupFailureReason))
	case f.APIError == "billing_error":
		return end(Credit, "the account has no credit (HTTP %d)", status)
	case isAuth(status, f.APIError):
		return end(Auth, "the API refused the credentials%s", httpStatus(status))
	case status == http.StatusTooManyRequests, f.APIError == "rate_limit":
		return limited(f, status)
	case status >= 500, f.APIError == "server_error", f.APIError == "overloaded":
		return end(Overloaded, "the API is overloaded or not reachable%s", httpStatus(status))
	default:
		return end(Failed, "API error %s%s%s", f.APIError, httpStatus(status), reason(r.TerminalReason))
	}
}

func reason(s string) string {
	if s == "" || s == "completed" {
		return ""
	}
	return ": " + s
}

func httpStatus(status int) string {
	if status == 0 {
		return ""
	}
	return fmt.Sprintf(" (HTTP %d)", status)
}

func limited(f Facts, status int) End {
	e := end(Limited, "rate limit%s", httpStatus(status))
	if f.RateLimit == nil || f.RateLimit.ResetsAt <= 0 {
		return e // the server's own limit for a moment, not the account's
	}
	e.Cause = "usage limit"
	if f.RateLimit.Type != "" {
		e.Cause += " " + f.RateLimit.Type
	}
	e.ResetAt, e.Kind = time.Unix(int64(f.RateLimit.ResetsAt), 0), f.RateLimit.Type
	e.Cause += " until " + e.ResetAt.UTC().Format(time.RFC3339)
	return e
}

func isAuth(status int, kind string) bool {
	return status == http.StatusUnauthorized || kind == "authentication_failed" || kind == "oauth_org_not_allowed"
}

func successful(f Facts, x Exit) End {
	r := f.Result
	empty := r.Result == "" && len(f.Report) == 0
	did := x.Changed || f.ToolUses > 0 || x.Asked
	switch {
	case x.Signal != "" && x.Stop != StopLinger:
		return end(Crashed, "killed by %s after its result", x.Signal)
	case x.Code != 0 && x.Stop != StopLinger:
		return end(Failed, "exit status %d after a success", x.Code)
	case f.AnsweredTurns == 0:
		return end(NoWork, "the prompt was not worked on (no turn)")
	case empty && !x.Changed:
		return end(NoWork, "a success with an empty answer")
	case empty:
		return end(Failed, "a success with an empty answer after changes")
	case r.TerminalReason != "" && r.TerminalReason != "completed":
		return end(Failed, "ended by %s", r.TerminalReason)
	case !did:
		return end(NoWork, "no tool was used and nothing was changed")
	default:
		return End{Ending: Completed}
	}
}
