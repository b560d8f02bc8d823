package outcome

import (
	"encoding/json"
	"sync"
	"time"

	"autopilot/sessions/stream"
)

// spiralEdits is how often one sub-agent may edit one file before it counts as
// going round in circles.
const spiralEdits = 3

// How a sub-agent ended, as the stream says it.
const (
	taskCompleted = "completed"
	taskFailed    = "failed"
	taskStopped   = "stopped"
)

// Usage is what the model was paid for. Tokens are counts, cost is in US
// dollars as the CLI computed it.
type Usage struct {
	Input, Output, CacheCreation, CacheRead int64
	CostUSD                                 float64
}

// Add returns the sum.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheCreation + v.CacheCreation, u.CacheRead + v.CacheRead, u.CostUSD + v.CostUSD}
}

func (u Usage) atLeast(v Usage) Usage {
	return Usage{
		max(u.Input, v.Input), max(u.Output, v.Output), max(u.CacheCreation, v.CacheCreation),
		max(u.CacheRead, v.CacheRead), max(u.CostUSD, v.CostUSD),
	}
}

// Agents counts sub-agents by how they ended. Spiral counts those that edited
// one file three times or more; they are in one of the other counts as well.
type Agents struct {
	Complete, Partial, Failed, Spiral int
}

// Started is the number of sub-agents that ran.
func (a Agents) Started() int { return a.Complete + a.Partial + a.Failed }

// Notice is what one event means for the one who watches the session.
type Notice struct {
	Activity    bool     // the session is alive; a heartbeat alone is not activity
	AuthFailed  bool     // the API refused the credentials
	Result      bool     // a result was printed
	Working     bool     // a new turn began after a result
	AgentsEnded []string // ids of the tool calls whose sub-agent ended or never started
	Retry       *Retry   // the CLI is about to ask the API again
}

// Retry is one announced retry of a request.
type Retry struct {
	Attempt, Max int
	Status       int // HTTP status; 0 without an answer
	Kind         string
	Delay        time.Duration
}

// Tally collects the facts of the processes of one session. It may be used
// from several goroutines.
type Tally struct {
	mu      sync.Mutex
	f       Facts
	pending map[string]time.Time // running tool calls by id
	edits   map[string]edit      // edits whose outcome is not known yet, by tool call
	agents  map[string]*agent    // by tool call
	calls   callLog
	open    map[string]Usage // requests since the last result, by message
	request string           // message of the request that is being streamed
	seen    Usage            // share of this process by its results
	last    Usage            // model usage of the last result of this process
	exact   bool             // the CLI prints the share since the last result
	settled bool             // what comes now is only the end of a process that lingered
}

type edit struct{ agent, file string }

type agent struct {
	started bool
	status  string
	idle    bool // it ended without having used a token
	edits   map[string]int
}

// NewTally returns an empty tally.
func NewTally() *Tally {
	t := &Tally{agents: map[string]*agent{}}
	t.begin()
	return t
}

func (t *Tally) begin() {
	t.pending, t.edits, t.open = map[string]time.Time{}, map[string]edit{}, map[string]Usage{}
	t.request, t.seen, t.last, t.exact, t.settled = "", Usage{}, Usage{}, false, false
	t.calls.forgetIDs()
	t.f.Result, t.f.AnsweredTurns, t.f.RateLimit, t.f.APIError, t.f.Init = nil, 0, nil, "", false
}

// NextProcess starts counting another process of the same conversation: what
// was used and done stays, what only says how a process ended is forgotten. After
// a limit of the API, sub-agents that did not complete were cut off by it and did
// not fail by themselves.
func (t *Tally) NextProcess(afterLimit bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.f.Earlier = t.usageLocked()
	for _, a := range t.agents {
		if afterLimit && (a.status != taskCompleted || a.idle) {
			a.status, a.idle = taskStopped, false
		}
	}
	t.begin()
}

// Settle keeps the current process's last result as its answer: an interrupt
// that only ends a lingering process makes the CLI print another one.
func (t *Tally) Settle() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.settled = true
}

// Observe counts one event and says what it means.
func (t *Tally) Observe(e stream.Event) Notice {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.f.Events++
	n := Notice{Activity: !(e.Type == stream.TypeToolProgress && e.Heartbeat)}
	switch e.Type {
	case stream.TypeSystem:
		t.system(e, &n)
	case stream.TypeAssistant:
		t.assistant(e, &n)
	case stream.TypeUser:
		t.user(e, &n)
	case stream.TypeRateLimit:
		if t.f.RateLimit = nil; e.RateLimit != nil && e.RateLimit.Status == "rejected" {
			t.f.RateLimit = e.RateLimit
		}
	case stream.TypeStreamEvent:
		t.streamed(e)
	case stream.TypeResult:
		n.Result = true
		t.result(e)
	}
	return n
}

func (t *Tally) system(e stream.Event, n *Notice) {
	switch e.Subtype {
	case stream.SubtypeInit:
		t.f.Init, t.f.Version, t.f.Model = true, e.Version, e.Model
		n.Working = true
	case stream.SubtypeStatus:
		n.Working = e.Status == "requesting"
	case stream.SubtypeRetry:
		r := Retry{Attempt: e.Attempt, Max: e.MaxRetries, Kind: e.Error, Delay: time.Duration(e.RetryDelayMS) * time.Millisecond}
		if e.ErrorStatus != nil {
			r.Status = *e.ErrorStatus
		}
		t.f.Retries++
		n.Retry = &r
		n.AuthFailed = isAuth(r.Status, r.Kind)
	case stream.SubtypeTaskStarted:
		if e.TaskType == "local_agent" {
			t.agent(e.ToolUseID).started = true
		}
	case stream.SubtypeTaskNotification:
		if a, ok := t.agents[e.ToolUseID]; ok && a.started {
			a.status = e.Status
			a.idle = e.TaskUsage != nil && e.TaskUsage.TotalTokens == 0
			n.AgentsEnded = append(n.AgentsEnded, e.ToolUseID)
		}
	}
}

func (t *Tally) agent(toolUseID string) *agent {
	a, ok := t.agents[toolUseID]
	if !ok {
		a = &agent{edits: map[string]int{}}
		t.agents[toolUseID] = a
	}
	return a
}

func (t *Tally) assistant(e stream.Event, n *Notice) {
	if e.Error != "" {
		status := 0
		if e.APIErrorStatus != nil {
			status = *e.APIErrorStatus
		}
		if e.ParentToolUseID == "" {
			t.f.APIError = e.Error
			n.AuthFailed = isAuth(status, e.Error)
		}
		return
	}
	if e.Message == nil {
		return
	}
	for _, b := range e.Message.Content {
		if b.Type != stream.BlockToolUse {
			continue
		}
		if b.Name != structuredOutputTool {
			t.f.ToolUses++
			t.calls.add(b, e.ParentToolUseID != "")
		}
		t.pending[b.ID] = e.At
		if stream.AgentTool(b.Name) {
			t.agent(b.ID)
		}
		if file := editedFile(b); file != "" && e.ParentToolUseID != "" {
			t.edits[b.ID] = edit{agent: e.ParentToolUseID, file: file}
		}
	}
}

// structuredOutputTool is the tool through which the CLI takes a structured
// report; calling it is not work.
const structuredOutputTool = "StructuredOutput"

func editedFile(b stream.Block) string {
	switch b.Name {
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
	default:
		return ""
	}
	var in struct {
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
	}
	if err := json.Unmarshal(b.Input, &in); err != nil {
		return ""
	}
	return in.File + in.Notebook
}

func (t *Tally) user(e stream.Event, n *Notice) {
	if e.Message == nil {
		return
	}
	for _, b := range e.Message.Content {
		if b.Type != stream.BlockToolResult {
			continue
		}
		delete(t.pending, b.ToolUseID)
		t.calls.settle(b.ToolUseID, b.IsError)
		if ed, ok := t.edits[b.ToolUseID]; ok {
			delete(t.edits, b.ToolUseID)
			if !b.IsError {
				t.agent(ed.agent).edits[ed.file]++
			}
		}
		if a, ok := t.agents[b.ToolUseID]; ok && !a.started {
			n.AgentsEnded = append(n.AgentsEnded, b.ToolUseID)
		}
	}
}

// streamed follows the requests to the API, so that a process that dies before
// its result still accounts for its tokens.
func (t *Tally) streamed(e stream.Event) {
	if e.Stream == nil || e.Stream.Usage == nil {
		return
	}
	if e.Stream.MessageID != "" {
		t.request = e.Stream.MessageID
	}
	u, s := t.open[t.request], e.Stream.Usage
	t.open[t.request] = Usage{
		Input: max(u.Input, s.InputTokens), Output: max(u.Output, s.OutputTokens),
		CacheCreation: max(u.CacheCreation, s.CacheCreationTokens), CacheRead: max(u.CacheRead, s.CacheReadTokens),
	}
}

func (t *Tally) result(e stream.Event) {
	t.f.Results++
	streamed := t.last
	for _, u := range t.open {
		streamed = streamed.Add(u)
	}
	clear(t.open)
	clear(t.pending)
	since := sumUsage(e.ModelUsageSince)
	t.exact = t.exact || e.ModelUsageSince != nil
	t.seen = t.seen.Add(since)
	// An older CLI names no usage at all in the result of an interrupted turn.
	t.last = sumUsage(e.ModelUsage).atLeast(streamed)
	t.f.Denials += len(e.PermissionDenials)
	if len(e.StructuredOutput) > 0 {
		t.f.Report = e.StructuredOutput
	}
	t.f.AnsweredTurns += e.NumTurns
	// The answer is in the last result of a turn; a later one without turns
	// only says that a background task ended.
	if !t.settled && (t.f.Result == nil || e.NumTurns > 0 || e.IsError) {
		t.f.Result = &e
	}
}

func sumUsage(by map[string]stream.ModelUsage) Usage {
	var u Usage
	for _, m := range by {
		u = u.Add(Usage{m.InputTokens, m.OutputTokens, m.CacheCreationTokens, m.CacheReadTokens, m.CostUSD})
	}
	return u
}

// usageLocked is what the whole session has used so far. Newer versions of the
// CLI carry the totals of a conversation over into a resumed process but also
// print the share since the last result; older ones start each process at zero.
func (t *Tally) usageLocked() Usage {
	own := t.last
	if t.exact {
		own = t.seen
	}
	for _, u := range t.open {
		own = own.Add(u)
	}
	return t.f.Earlier.Add(own)
}

// Facts returns what is known so far.
func (t *Tally) Facts() Facts {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.f
	f.Usage = t.usageLocked()
	f.ToolsRunning = len(t.pending)
	for _, a := range t.agents {
		f.Agents = f.Agents.with(*a)
	}
	return f
}

func (a Agents) with(x agent) Agents {
	if !x.started {
		return a
	}
	switch {
	case x.status == taskFailed, x.status == taskCompleted && x.idle:
		a.Failed++
	case x.status == taskCompleted:
		a.Complete++
	default:
		a.Partial++
	}
	for _, n := range x.edits {
		if n >= spiralEdits {
			a.Spiral++
			break
		}
	}
	return a
}
