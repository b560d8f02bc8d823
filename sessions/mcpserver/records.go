package mcpserver

import (
	"context"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"autopilot/metrics/episode"
	"autopilot/sessions/completion"
	"autopilot/sessions/task"
)

// Bounds of what goes in and out. A report is cut to the same lengths where it is
// read, so more than that is refused here instead of being lost there.
const (
	usualEvents  = 50
	mostEvents   = 1000
	usualMatches = 10
	mostMatches  = 100
	mostTasks    = 50 // of a source
	mostQuery    = 1000
	mostText     = 2000 // characters of a summary or a question
	mostItems    = 50
	mostItem     = 300 // characters
)

type logArguments struct {
	Last *int `json:"last,omitempty" jsonschema:"how many of the last events to give; 50 when left out"`
	JSON bool `json:"json,omitempty" jsonschema:"give the text as JSON instead of words"`
}

type events struct {
	Events []completion.Event `json:"events" jsonschema:"oldest first"`
}

type progress struct {
	Overall  task.Count                `json:"overall"`
	BySource map[string]sourceProgress `json:"bySource"`
}

type sourceProgress struct {
	task.Count
	Tasks []task.Task `json:"tasks" jsonschema:"open ones first"`
	// LeftOut is the number of tasks that the list was cut by.
	LeftOut int `json:"leftOut,omitempty" jsonschema:"further tasks, which are counted but not listed"`
}

type report struct {
	Summary     string   `json:"summary" jsonschema:"what changed, in a few sentences"`
	Completed   []string `json:"completed,omitempty" jsonschema:"what is done and checked, one short item each"`
	CarriedOver []string `json:"carried_over,omitempty" jsonschema:"what was planned and is not done, one short item each"`
	NextSteps   []string `json:"next_steps,omitempty" jsonschema:"what is left towards the goal; leave out when nothing is left"`
	NeedsPerson string   `json:"needs_person,omitempty" jsonschema:"the question only a person can answer; leave out when there is none"`
}

type reported struct {
	Reported bool `json:"reported"`
}

// addRecords adds the tools for the log, the tasks and the agent's report.
func (w work) addRecords(s *mcp.Server) {
	add(s, "autopilot_log", Trait{
		Title: "Autopilot log", Hint: Reads,
		About: "The last events of persistent completion: when it was switched, when the agent was sent on, why it ended.",
	}, func(p map[string]*jsonschema.Schema) {
		between(p["last"], 1, mostEvents)
	}, func(_ context.Context, in logArguments) (events, string, error) {
		list, err := w.Log(orUsual(in.Last, usualEvents))
		if err != nil {
			return events{}, "", err
		}
		if list == nil {
			list = []completion.Event{}
		}
		if in.JSON {
			return events{list}, "", nil
		}
		return events{list}, logText(list), nil
	})
	add(s, "autopilot_progress", Trait{
		Title: "Autopilot progress", Hint: Reads, Network: w.network,
		About: "How many tasks are complete, in all and per source, with the tasks themselves, as JSON.",
	}, nil, func(ctx context.Context, _ nothing) (progress, string, error) {
		p, err := w.Progress(ctx)
		return shortProgress(p), "", err
	})
	add(s, "autopilot_report", Trait{
		Title: "Report your work", Hint: Changes,
		About: "Say what you finished, what you carry over, and what you need from a person. Call it once, at the end of your work; the last report counts.",
	}, func(p map[string]*jsonschema.Schema) {
		p["summary"].MaxLength, p["summary"].Pattern = jsonschema.Ptr(mostText), NotBlank
		p["needs_person"].MaxLength = jsonschema.Ptr(mostText)
		for _, list := range []string{"completed", "carried_over", "next_steps"} {
			p[list].MaxItems, p[list].Items.MaxLength = jsonschema.Ptr(mostItems), jsonschema.Ptr(mostItem)
		}
	}, func(_ context.Context, in report) (reported, string, error) {
		return reported{true}, "The report is kept.", w.Report(completion.Report(in))
	})
}

type historyArguments struct {
	Query string `json:"query" jsonschema:"what the work is about, in a few words"`
	Limit *int   `json:"limit,omitempty" jsonschema:"how many episodes to give; 10 when left out"`
}

type history struct {
	Query   string          `json:"query"`
	Results []episode.Match `json:"results" jsonschema:"the nearest first"`
}

// addLessons adds the tools that look at earlier episodes.
func (w work) addLessons(s *mcp.Server) {
	add(s, "autopilot_learn", Trait{
		Title: "Lessons", Hint: Reads,
		About: "What earlier episodes of work have in common: what succeeded, what failed, and what follows from that.",
	}, nil, func(_ context.Context, in form) (episode.Learned, string, error) {
		l, err := w.Learn()
		if err != nil || in.JSON {
			return l, "", err
		}
		return l, learnedText(l), nil
	})
	add(s, "autopilot_history", Trait{
		Title: "Earlier episodes", Hint: Reads,
		About: "Earlier episodes of work that are like the query, with how they ended, as JSON.",
	}, func(p map[string]*jsonschema.Schema) {
		p["query"].MaxLength, p["query"].Pattern = jsonschema.Ptr(mostQuery), NotBlank
		between(p["limit"], 1, mostMatches)
	}, func(_ context.Context, in historyArguments) (history, string, error) {
		found, err := w.History(in.Query, orUsual(in.Limit, usualMatches))
		out := history{Query: in.Query, Results: make([]episode.Match, len(found))}
		for i, m := range found {
			m.Steps = nil
			out.Results[i] = m
		}
		return out, "", err
	})
	add(s, "autopilot_predict", Trait{
		Title: "Next action", Hint: Reads, Network: w.network,
		About: "Which task to take up next, judged by what is left and by earlier episodes.",
	}, nil, func(ctx context.Context, in form) (episode.Prediction, string, error) {
		p, err := w.Predict(ctx)
		if err != nil || in.JSON {
			return p, "", err
		}
		return p, predictionText(p), nil
	})
}

func orUsual(v *int, usual int) int {
	if v == nil {
		return usual
	}
	return *v
}

func shortProgress(p completion.Progress) progress {
	out := progress{Overall: p.Overall, BySource: map[string]sourceProgress{}}
	for source, sp := range p.BySource {
		list := task.Remaining(sp.Tasks)
		for _, t := range sp.Tasks {
			if t.Terminal() {
				list = append(list, t)
			}
		}
		tasks, left := firstTasks(list)
		out.BySource[source] = sourceProgress{Count: sp.Count, Tasks: tasks, LeftOut: left}
	}
	return out
}

// firstTasks are as many tasks as an answer takes, with short subjects, and the
// number of those it does not take.
func firstTasks(list []task.Task) ([]task.Task, int) {
	out := make([]task.Task, min(len(list), mostTasks))
	for i := range out {
		out[i] = list[i]
		out[i].Subject = oneLine(list[i].Subject)
	}
	return out, len(list) - len(out)
}
