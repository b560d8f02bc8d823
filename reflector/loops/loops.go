package loops

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"autopilot/metrics/logs"
	"autopilot/reflector"
	"autopilot/sessions/prompt"
)

// Kinds of repetition.
const (
	Repeat   = "repeat"
	PingPong = "ping-pong"
	Cycle    = "cycle"
)

const (
	longestRound = 4  // calls
	window       = 12 // calls that count; three of the longest rounds
	maxTool      = 40 // runes
	maxBrief     = 80 // runes
)

// rounds is how often a round of so many calls must come to be a repetition. Two
// calls in turn are told after two rounds, because one that comes back to its
// beginning twice without a change is seldom meant.
func rounds(size int) int {
	if size == 2 {
		return 2
	}
	return 3
}

// Finding is a repetition.
type Finding struct {
	Kind string `json:"kind"`
	// Words is one line for people: the calls and how often they came, without
	// secrets.
	Words string `json:"words"`
	// Iteration is that of the last call of the repetition.
	Iteration int `json:"iteration"`
}

// Find returns the repetition near the end of a list of calls, oldest first, or
// nil when there is none.
func Find(calls []reflector.Call) *Finding {
	counted := make([]reflector.Call, 0, len(calls))
	for _, c := range calls {
		if !passive(c.Tool) {
			counted = append(counted, c)
		}
	}
	from := max(0, len(counted)-window)
	for end := len(counted); end > from; end-- {
		for size := 1; size <= longestRound; size++ {
			if n := length(counted[:end], size); min(n, end-from) >= size*rounds(size) {
				return finding(counted[end-n:end], size)
			}
		}
	}
	return nil
}

// length is the number of calls at the end of a list that repeat in rounds of a
// size. The first of them may be only a part of a round.
func length(calls []reflector.Call, size int) int {
	n := size
	for n < len(calls) && same(calls[len(calls)-1-n], calls[len(calls)-1-n+size]) {
		n++
	}
	return n
}

func same(a, b reflector.Call) bool { return a.Same != "" && a.Same == b.Same && a.Tool == b.Tool }

// finding describes calls that repeat in rounds of a size.
func finding(calls []reflector.Call, size int) *Finding {
	last := calls[len(calls)-1]
	calls = calls[len(calls)%size:]
	if size == 1 {
		return &Finding{Repeat, fmt.Sprintf("%s, %d times in a row", words(last), len(calls)), last.Iteration}
	}
	kind := Cycle
	if size == 2 {
		kind = PingPong
	}
	var names []string
	for _, c := range calls[:size] {
		names = append(names, words(c))
	}
	list := strings.Join(names[:size-1], ", ") + " and " + names[size-1]
	return &Finding{kind, fmt.Sprintf("%s, %d times in turn", list, len(calls)/size), last.Iteration}
}

// words names a call. What stands in it was chosen by an agent, so it is quoted,
// which also makes visible what would act on a terminal.
func words(c reflector.Call) string {
	tool := strconv.Quote(short(c.Tool, maxTool))
	tool = cmp.Or(tool[1:len(tool)-1], "a call")
	if brief := short(c.Brief, maxBrief); brief != "" {
		return tool + " " + strconv.Quote(brief)
	}
	return tool
}

func short(s string, n int) string {
	return prompt.Cut(logs.Redact(strings.Join(strings.Fields(s), " ")), n)
}

// passive reports whether calls of a tool only wait for something, ask how it
// goes, or keep a list of what is to be done.
func passive(tool string) bool {
	switch tool {
	case "BashOutput", "TaskOutput", "AgentOutput", "AgentOutputTool", "Monitor",
		"TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet",
		"ListMcpResources", "ListMcpResourcesTool":
		return true
	}
	return false
}
