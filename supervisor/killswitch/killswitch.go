package killswitch

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Reason names why the loop stopped. The ten values are the whole set; they
// are written to the run ledger as they are.
type Reason string

// The ten reasons. The first six are decided before a session, the last four
// after one.
const (
	UserAbort            Reason = "user-abort"
	MaxSessionsReached   Reason = "max-sessions-reached"
	MaxHoursExceeded     Reason = "max-hours-exceeded"
	TokenBudgetExceeded  Reason = "token-budget-exceeded"
	ResourceOverload     Reason = "resource-overload"
	LowConfidence        Reason = "low-confidence-fallback"
	StallTimeout         Reason = "stall-timeout"
	Spiral               Reason = "spiral"
	FailedWave           Reason = "failed-wave"
	CarryoverTooHigh     Reason = "carryover-too-high"
	verdictThatOverloads        = "critical"
)

// All returns the ten reasons in the order in which they are checked.
func All() []Reason {
	return []Reason{
		UserAbort, MaxSessionsReached, MaxHoursExceeded, TokenBudgetExceeded, ResourceOverload, LowConfidence,
		StallTimeout, Spiral, FailedWave, CarryoverTooHigh,
	}
}

// Hint returns what a person can do about a stop for this reason, as one
// sentence for the terminal and the log.
func (r Reason) Hint() string {
	switch r {
	case UserAbort:
		return "Run again when ready; what was finished is in the ledgers."
	case MaxSessionsReached:
		return "This is a normal end; run again to go on, or raise --max-sessions."
	case MaxHoursExceeded:
		return "Run again with a higher --max-hours, or look at what made the sessions slow."
	case TokenBudgetExceeded:
		return "Run again with a higher --max-tokens or --max-cost-usd, or split the work."
	case ResourceOverload:
		return "Wait for the other Claude sessions on this machine to end, or close them; see 'autopilot probe'."
	case LowConfidence:
		return "Run again with a lower --confidence-threshold, or do the next session by hand."
	case StallTimeout:
		return "Look at the stalled session's transcript; raise --stall-timeout if the work is only slow."
	case Spiral:
		return "Look at the file that was edited again and again; this session is not retried."
	case FailedWave:
		return "Find out why it failed (tests, environment, account) and run again after the fix."
	case CarryoverTooHigh:
		return "The last session left most of its plan undone; reduce the scope or split the issues, then run again."
	default:
		return ""
	}
}

// Graceful reports whether a stop for this reason is a run that ended as its
// limits wanted, not a sign of trouble.
func (r Reason) Graceful() bool {
	return r == MaxSessionsReached || r == MaxHoursExceeded
}

// Hit is a decision to stop.
type Hit struct {
	Reason Reason `json:"reason"` // one of the ten
	Detail string `json:"detail"` // the numbers behind it, for the ledger and the person
}

func hit(r Reason, format string, args ...any) *Hit {
	return &Hit{Reason: r, Detail: fmt.Sprintf(format, args...)}
}

// Limits are the bounds of a run after clamping.
type Limits struct {
	MaxSessions         int
	MaxHours            float64 // wall-clock hours since the run started
	MaxTokens           int64   // 0 is no limit
	MaxCostUSD          float64 // 0 is no limit
	PeerAbort           int     // peers above this, with a critical tier, stop the run
	CarryoverThreshold  float64 // share of the plan, 0..1
	ConfidenceThreshold float64 // 0..1; equal passes
	MaxErrors           int     // broken sessions in a row; 0 and 1 stop at the first
}

// Spend is what a run has used, or what one session is expected to use.
type Spend struct {
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"cost_usd"`
}

// Before is what is known before a session starts.
type Before struct {
	Abort     string        // why the person wants to stop; empty when nobody does
	Completed int           // sessions that were completed
	Sessions  int           // all sessions, also those that broke and were tolerated
	Elapsed   time.Duration // wall clock since the run started
	Spent     Spend         // over the whole run
	Mean      *Spend        // mean of the last sessions; nil before the first
	Verdict   string        // tier of the last probe; empty when there was none
	Peers     *int          // other Claude sessions; nil when they could not be counted
}

// CheckBefore returns the first reason not to start another session, or nil.
// The order is user-abort, max-sessions-reached, max-hours-exceeded,
// token-budget-exceeded, resource-overload.
func CheckBefore(l Limits, f Before) *Hit {
	switch {
	case f.Abort != "":
		return hit(UserAbort, "%s", f.Abort)
	case f.Completed >= l.MaxSessions:
		return hit(MaxSessionsReached, "iterations_completed=%d >= max-sessions=%d", f.Completed, l.MaxSessions)
	case f.Sessions >= l.MaxSessions:
		return hit(MaxSessionsReached, "iterations=%d >= max-sessions=%d (iterations_completed=%d)", f.Sessions, l.MaxSessions, f.Completed)
	case f.Elapsed.Hours() >= l.MaxHours:
		return hit(MaxHoursExceeded, "elapsed=%.2fh >= max-hours=%.2fh", f.Elapsed.Hours(), l.MaxHours)
	}
	if h := checkBudget(l, f); h != nil {
		return h
	}
	if f.Verdict == verdictThatOverloads && f.Peers != nil && *f.Peers > l.PeerAbort {
		return hit(ResourceOverload, "verdict=%s peers=%d > threshold=%d", f.Verdict, *f.Peers, l.PeerAbort)
	}
	return nil
}

// checkBudget stops when a budget is used up, and also when what is left of it
// is less than the mean of the last sessions: a session that cannot be expected
// to fit is money spent on work that will be cut off.
func checkBudget(l Limits, f Before) *Hit {
	if l.MaxTokens > 0 {
		if f.Spent.Tokens >= l.MaxTokens {
			return hit(TokenBudgetExceeded, "cumulative_tokens=%d >= max-tokens=%d", f.Spent.Tokens, l.MaxTokens)
		}
		if left := l.MaxTokens - f.Spent.Tokens; f.Mean != nil && left < f.Mean.Tokens {
			return hit(TokenBudgetExceeded, "tokens left=%d < mean of the last sessions=%d (max-tokens=%d)",
				left, f.Mean.Tokens, l.MaxTokens)
		}
	}
	if l.MaxCostUSD > 0 {
		if f.Spent.CostUSD >= l.MaxCostUSD {
			return hit(TokenBudgetExceeded, "cumulative_cost_usd=%.4f >= max-cost-usd=%.4f", f.Spent.CostUSD, l.MaxCostUSD)
		}
		if left := l.MaxCostUSD - f.Spent.CostUSD; f.Mean != nil && left < f.Mean.CostUSD {
			return hit(TokenBudgetExceeded, "cost left=%.4f < mean of the last sessions=%.4f (max-cost-usd=%.4f)",
				left, f.Mean.CostUSD, l.MaxCostUSD)
		}
	}
	return nil
}

// CheckConfidence returns low-confidence-fallback when the confidence is below
// the threshold. Equal passes. The first iteration hands over to a person
// instead; that is the caller's to decide.
func CheckConfidence(l Limits, mode string, confidence float64) *Hit {
	if mode == "" {
		return hit(LowConfidence, "no mode was recommended")
	}
	if !(confidence >= l.ConfidenceThreshold) {
		got, limit := apart(confidence, l.ConfidenceThreshold)
		return hit(LowConfidence, "confidence=%s < threshold=%s (mode=%s)", got, limit, mode)
	}
	return nil
}

// After is what a session left behind. Pointers are nil where the session did
// not measure the value.
type After struct {
	Stalled   string   // why the session counts as hung; empty when it did not hang
	Spiral    *int     // agents that edited one file again and again
	Failed    *int     // agents that failed
	Broken    string   // why the whole session counts as failed; empty when it did not
	Hopeless  bool     // trying again is of no use, as with credentials that are refused
	Errors    []string // kinds of the sessions in a row that broke or had failed agents, with this one
	Carryover *int     // planned items left undone
	Planned   *int     // planned items
}

// CheckAfter returns the first reason to stop after a session, or nil. The
// order is stall-timeout, spiral, failed-wave, carryover-too-high.
func CheckAfter(l Limits, f After) *Hit {
	switch {
	case f.Stalled != "":
		return hit(StallTimeout, "%s", f.Stalled)
	case f.Spiral != nil && *f.Spiral > 0:
		return hit(Spiral, "agent_summary.spiral=%d", *f.Spiral)
	case f.Error() != "":
		return checkErrors(l, f)
	}
	if f.Carryover == nil || f.Planned == nil || *f.Planned <= 0 {
		return nil
	}
	if ratio := float64(*f.Carryover) / float64(*f.Planned); ratio > l.CarryoverThreshold {
		got, limit := apart(ratio, l.CarryoverThreshold)
		return hit(CarryoverTooHigh, "carryover/planned=%s > threshold=%s (carryover=%d, planned=%d)",
			got, limit, *f.Carryover, *f.Planned)
	}
	return nil
}

// Error says why the session counts as an error, or nothing. Waiting for a limit
// of the API is none.
func (f After) Error() string {
	switch {
	case f.Broken != "":
		return f.Broken
	case f.Failed != nil && *f.Failed > 0:
		return fmt.Sprintf("agent_summary.failed=%d", *f.Failed)
	}
	return ""
}

// checkErrors tolerates errors until there are too many in a row.
func checkErrors(l Limits, f After) *Hit {
	switch {
	case l.MaxErrors <= 1 || f.Hopeless:
		return hit(FailedWave, "%s", f.Error())
	case len(f.Errors) >= l.MaxErrors:
		return hit(FailedWave, "errors in a row=%d (%s) >= max-consecutive-errors=%d, the last: %s", len(f.Errors), byKind(f.Errors), l.MaxErrors, f.Error())
	}
	return nil
}

// byKind counts words: "3 crashed, 1 no-work".
func byKind(kinds []string) string {
	counts := map[string]int{}
	for _, k := range kinds {
		counts[k]++
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%d %s", counts[k], k))
	}
	return strings.Join(out, ", ")
}

// apart prints a value and its threshold with up to four decimals, or with all of
// them where four would make the two look the same.
func apart(value, threshold float64) (v, t string) {
	v, t = trimmed(value), trimmed(threshold)
	if v == t {
		return strconv.FormatFloat(value, 'f', -1, 64), strconv.FormatFloat(threshold, 'f', -1, 64)
	}
	return v, t
}

func trimmed(v float64) string {
	return strconv.FormatFloat(math.Round(v*10000)/10000, 'f', -1, 64)
}
