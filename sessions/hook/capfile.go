package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"autopilot/metrics/statedir"
)

// CapState is the content of a session's cap file.
type CapState struct {
	Cap     int                  `json:"cap"`    // sub-agents at once; 0 allows none
	Tier    string               `json:"tier"`   // tier of the machine
	Signal  string               `json:"signal"` // what decided the tier
	Active  map[string]time.Time `json:"active"` // by id of the tool call
	Allowed int                  `json:"allowed"`
	Refused []Refusal            `json:"refused"` // the last of them; Changes count them all
	Changes []Change             `json:"changes"` // every cap that held, oldest first
}

// keptRefusals bounds how many refusals are kept one by one: an agent that asks
// again and again must not make each answer slower.
const keptRefusals = 50

// RefusedCount is the number of sub-agents that were refused.
func (s CapState) RefusedCount() int {
	n := 0
	for _, c := range s.Changes {
		n += c.Refused
	}
	return n
}

// Refusal is one sub-agent that was not started.
type Refusal struct {
	ToolUseID string    `json:"tool_use_id"`
	At        time.Time `json:"at"`
	Cap       int       `json:"cap"`
	Active    int       `json:"active"`
}

// Change is one cap that held from a moment on.
type Change struct {
	At     time.Time `json:"at"`
	Cap    int       `json:"cap"`
	Tier   string    `json:"tier"`
	Signal string    `json:"signal"`
	// Refused counts the sub-agents that were refused while it held.
	Refused int `json:"refused"`
}

// CapFile is the path of a session's cap file.
type CapFile string

// Load reads the file. It is complete at any moment.
func (f CapFile) Load() (CapState, error) {
	var s CapState
	data, err := os.ReadFile(string(f))
	if err != nil {
		return s, fmt.Errorf("read agent cap: %w", err)
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("read agent cap %s: %w", f, err)
	}
	return s, nil
}

// Set writes the cap that holds from now on and keeps what was counted. It
// reports whether that changed anything; the first call creates the file.
func (f CapFile) Set(c Change) (changed bool, err error) {
	err = f.update(true, func(s *CapState) bool {
		if len(s.Changes) > 0 && s.Cap == c.Cap && s.Tier == c.Tier {
			return false
		}
		changed = true
		s.Cap, s.Tier, s.Signal = c.Cap, c.Tier, c.Signal
		s.Changes = append(s.Changes, c)
		return true
	})
	return changed, err
}

// Release gives back the slots of tool calls that have ended.
func (f CapFile) Release(toolUseIDs ...string) error {
	return f.update(false, func(s *CapState) bool {
		before := len(s.Active)
		for _, id := range toolUseIDs {
			delete(s.Active, id)
		}
		return len(s.Active) != before
	})
}

// ReleaseAll gives back every slot: no sub-agent outlives the process that
// started it.
func (f CapFile) ReleaseAll() error {
	return f.update(false, func(s *CapState) bool {
		had := len(s.Active) > 0
		clear(s.Active)
		return had
	})
}

func (s *CapState) refuse(r Refusal) {
	s.Refused = append(s.Refused, r)
	s.Refused = s.Refused[max(0, len(s.Refused)-keptRefusals):]
	if n := len(s.Changes); n > 0 {
		s.Changes[n-1].Refused++
	}
}

// Reserve takes a slot for a tool call. It returns the state after the decision
// and whether the slot was given. A call that holds a slot already keeps it.
func (f CapFile) Reserve(toolUseID string, now time.Time) (s CapState, ok bool, err error) {
	err = f.update(false, func(cur *CapState) bool {
		if _, again := cur.Active[toolUseID]; again {
			ok = true
		} else if ok = len(cur.Active) < cur.Cap; ok {
			cur.Active[toolUseID] = now
			cur.Allowed++
		} else {
			cur.refuse(Refusal{ToolUseID: toolUseID, At: now, Cap: cur.Cap, Active: len(cur.Active)})
		}
		s = *cur
		return true
	})
	return s, ok && err == nil, err
}

// update changes the file under its lock.
func (f CapFile) update(create bool, change func(*CapState) bool) error {
	return statedir.Exclusive(string(f), func() error {
		s, err := f.Load()
		if err != nil && !(create && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
		if s.Active == nil {
			s.Active = map[string]time.Time{}
		}
		if !change(&s) {
			return nil
		}
		data, err := json.Marshal(s)
		if err != nil {
			return fmt.Errorf("encode agent cap: %w", err)
		}
		return statedir.Swap(string(f), data)
	})
}
