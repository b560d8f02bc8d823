package stats

// Targets. A rate is on target when it is above TargetCompletion, or below
// TargetFalseStops.
const (
	TargetCompletion = 0.8
	TargetFalseStops = 0.05
)

// Metrics are the metrics over all runs of a project. Shares are 0..1 and nil,
// null in JSON, where there is nothing to divide by.
type Metrics struct {
	Runs          int64 `json:"runs"`      // records that count
	GoalRuns      int64 `json:"goal_runs"` // those that list goals or have the text of one
	Goals         int64 `json:"goals"`     // each once, however often it was resumed
	GoalsAchieved int64 `json:"goals_achieved"`

	CompletionRate             *float64 `json:"completion_rate"`
	MeanIterationsToCompletion *float64 `json:"mean_iterations_to_completion"` // sessions of an achieved goal

	Reflections Reflections `json:"reflections"`

	Reasons       map[string]int64 `json:"reasons"` // runs by class of reason
	FalseStops    int64            `json:"false_stops"`
	FalseStopRate *float64         `json:"false_stop_rate"`

	Totals      Totals           `json:"totals"`
	Forecasts   Forecasts        `json:"forecasts"`
	ByReflector map[string]int64 `json:"by_reflector"` // reflections by who made them
}

// Reflections sums up the reflections of all runs.
type Reflections struct {
	Count    int64    `json:"count"`
	Failed   int64    `json:"failed"` // came to nothing
	Judged   int64    `json:"judged"` // could be compared with what came after
	Correct  int64    `json:"correct"`
	Accuracy *float64 `json:"accuracy"` // correct / judged
	Score    *float64 `json:"score"`    // mean of the judged, 0..1
}

// Totals are sums over all runs.
type Totals struct {
	Sessions int64   `json:"sessions"` // all that were started
	Tokens   int64   `json:"tokens"`   // without cache reads
	CostUSD  float64 `json:"cost_usd"`
	Seconds  int64   `json:"seconds"` // wall clock, waiting included
}

// Forecasts says how often the truth lay within the bounds of the forecast, for
// each quantity among the runs of which it is known. The truth is what the run
// took, together with those that continue it. Time is without waiting.
type Forecasts struct {
	Runs     int64    `json:"runs"` // that had a forecast
	Sessions *float64 `json:"sessions"`
	Seconds  *float64 `json:"seconds"`
	Tokens   *float64 `json:"tokens"`
	CostUSD  *float64 `json:"cost_usd"`
}
