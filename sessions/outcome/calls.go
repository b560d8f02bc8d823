package outcome

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"strings"
	"unicode"

	"autopilot/metrics/logs"
	"autopilot/sessions/prompt"
	"autopilot/sessions/stream"
)

const (
	keptCalls  = 40      // the last calls of a session
	keptTools  = 64      // names that are counted each
	otherTools = "other" // what the calls of further tools are counted as
	maxBrief   = 120     // runes
	briefFrom  = 4 << 10 // bytes of an argument that its brief is made from
)

// Call is one tool call of a session.
type Call struct {
	Tool string `json:"tool"`
	// Brief is the most telling argument, in one line of at most 120 runes, without
	// what looks like a secret.
	Brief string `json:"brief"`
	// Same is equal for calls of the same tool with the same arguments: 16 hex
	// digits. The order of keys and white space between them do not matter, nor does
	// the description of a shell command. Arguments count as far as the decoder kept
	// them, so that calls may pass for equal that differ behind 16 KiB of a text.
	Same   string `json:"same"`
	Failed bool   `json:"failed,omitempty"` // its result was an error; a call without a result did not fail
	Agent  bool   `json:"agent,omitempty"`  // a sub-agent made it
}

// callLog keeps the last calls and counts all of them. It is bounded in both.
type callLog struct {
	ring  []keptCall // the oldest at next, when it is full
	next  int
	tools map[string]int
}

type keptCall struct {
	Call

	id string
}

func (l *callLog) add(b stream.Block, agent bool) {
	c := Call{Tool: oneLine(b.Name), Brief: brief(b.Input), Same: same(b), Agent: agent}
	l.count(c.Tool)
	if len(l.ring) < keptCalls {
		l.ring = append(l.ring, keptCall{c, b.ID})
		return
	}
	l.ring[l.next] = keptCall{c, b.ID}
	l.next = (l.next + 1) % keptCalls
}

func (l *callLog) count(tool string) {
	if l.tools == nil {
		l.tools = map[string]int{}
	}
	if _, known := l.tools[tool]; !known && len(l.tools) >= keptTools {
		tool = otherTools
	}
	l.tools[tool]++
}

// settle notes what became of a call, if it is still kept.
func (l *callLog) settle(id string, failed bool) {
	for i := range l.ring {
		if id != "" && l.ring[i].id == id {
			l.ring[i].Failed, l.ring[i].id = failed, ""
		}
	}
}

// forgetIDs keeps the calls of a process from being taken for those of the next.
func (l *callLog) forgetIDs() {
	for i := range l.ring {
		l.ring[i].id = ""
	}
}

func (l *callLog) list() []Call {
	var out []Call
	for i := range l.ring {
		out = append(out, l.ring[(l.next+i)%len(l.ring)].Call)
	}
	return out
}

// Calls returns the last tool calls, at most 40, oldest first, and how often each
// tool was called in the whole session. At most 64 names are told apart; the
// calls of further tools are counted as "other". Handing over a structured report
// is no call. Both are the caller's own.
func (t *Tally) Calls() ([]Call, map[string]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.calls.list(), maps.Clone(t.calls.tools)
}

// brief says in one line what a call is about.
func brief(input json.RawMessage) string {
	var in map[string]any
	if json.Unmarshal(input, &in) == nil {
		for _, key := range []string{"command", "file_path", "pattern", "url", "description"} {
			if text, ok := in[key].(string); ok && strings.TrimSpace(text) != "" {
				return oneLine(text)
			}
		}
	}
	var all bytes.Buffer
	if json.Compact(&all, input) != nil {
		return ""
	}
	return oneLine(all.String())
}

// oneLine makes a short line of any text. Secrets are looked for before it is
// cut, because half a secret does not look like one.
func oneLine(s string) string {
	s = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) {
			return ' '
		}
		return c
	}, s[:min(len(s), briefFrom)])
	return prompt.Cut(logs.Redact(strings.Join(strings.Fields(s), " ")), maxBrief)
}

// same is a digest of a call's tool and arguments.
func same(b stream.Block) string {
	arguments := []byte(b.Input)
	d := json.NewDecoder(bytes.NewReader(b.Input))
	d.UseNumber()
	var v any
	if d.Decode(&v) == nil {
		if in, ok := v.(map[string]any); ok && b.Name == "Bash" {
			delete(in, "description")
		}
		if canonical, err := json.Marshal(v); err == nil { // its keys are in order
			arguments = canonical
		}
	}
	sum := sha256.Sum256(append([]byte(b.Name+"\x00"), arguments...))
	return hex.EncodeToString(sum[:8])
}
