package mode

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

const stateFile = ".claude/STATE.md"

// Status is how far the session described by STATE.md got. Other words than the named ones are kept as written; the
// empty status means that the file says none.
type Status string

// The states of a session in STATE.md.
const (
	StatusActive    Status = "active"
	StatusPaused    Status = "paused"
	StatusCompleted Status = "completed"
	StatusIdle      Status = "idle"
)

// State is the part of STATE.md's frontmatter that a supervisor needs. What is absent is empty, zero or nil.
type State struct {
	Status      Status `json:"status"`
	Session     string `json:"session"`
	SessionType Mode   `json:"session_type"`
	// StartedAt is kept as written.
	StartedAt   string `json:"started_at"`
	CurrentWave int64  `json:"current_wave"`
	TotalWaves  int64  `json:"total_waves"`

	RecommendedMode Mode     `json:"recommended_mode"`
	TopPriorities   []int64  `json:"top_priorities"`
	CarryoverRatio  *float64 `json:"carryover_ratio"`
	CompletionRate  *float64 `json:"completion_rate"`
	Rationale       string   `json:"rationale"`
}

// AsksToResume reports whether a session started now would first ask whether to take up the unfinished one. Nobody
// answers that question in an unattended run.
func (s State) AsksToResume() bool {
	return s.Status == StatusActive || s.Status == StatusPaused
}

// LoadState reads .claude/STATE.md below repo. The boolean says whether the file is there. It is true beside an error
// when the file is there but cannot be read or understood; then an unfinished session cannot be ruled out.
func LoadState(repo string) (State, bool, error) {
	state, found, _, err := loadState(repo)
	return state, found, err
}

// loadState also tells what in a readable file was ignored or is unusual.
func loadState(repo string) (state State, found bool, oddities []string, err error) {
	data, err := readHead(filepath.Join(repo, filepath.FromSlash(stateFile)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return State{}, false, nil, nil
	case err != nil:
		return State{}, true, nil, fmt.Errorf("load state: %w", err)
	}
	text, marked := strings.CutPrefix(string(data), byteOrderMark)
	front, err := parseFrontmatter(text)
	if err != nil {
		return State{}, true, nil, fmt.Errorf("load state: %s: %w", stateFile, err)
	}
	r := stateReader{front: front}
	if marked {
		r.odd("begins with a byte-order mark, which hides the frontmatter from session-orchestrator")
	}
	state = State{
		Status:          Status(r.text("status")),
		Session:         r.text("session"),
		SessionType:     Mode(r.text("session-type")),
		StartedAt:       r.text("started_at"),
		CurrentWave:     r.integer("current-wave"),
		TotalWaves:      r.integer("total-waves"),
		RecommendedMode: Mode(r.text("recommended-mode")),
		TopPriorities:   r.integers("top-priorities"),
		CarryoverRatio:  r.ratio("carryover-ratio"),
		CompletionRate:  r.ratio("completion-rate"),
		Rationale:       r.text("rationale"),
	}
	return state, true, r.oddities, nil
}

// stateReader takes typed values out of a frontmatter and collects what does not fit.
type stateReader struct {
	front    map[string]any
	oddities []string
}

func (r *stateReader) odd(format string, args ...any) {
	r.oddities = append(r.oddities, clip(fmt.Sprintf(format, args...)))
}

func (r *stateReader) wrong(key, want string) {
	r.odd("%s is %.40q, want %s", key, fmt.Sprint(r.front[key]), want)
}

func (r *stateReader) text(key string) string {
	s, ok := r.front[key].(string)
	if !ok && r.front[key] != nil {
		r.wrong(key, "text")
	}
	return s
}

func (r *stateReader) integer(key string) int64 {
	n, ok := r.front[key].(float64)
	if ok && whole(n) {
		return int64(n)
	}
	if r.front[key] != nil {
		r.wrong(key, "an integer")
	}
	return 0
}

func (r *stateReader) integers(key string) []int64 {
	list, ok := r.front[key].([]any)
	if !ok && r.front[key] == nil {
		return nil
	}
	notWhole := func(v any) bool {
		n, ok := v.(float64)
		return !ok || !whole(n)
	}
	if !ok || slices.ContainsFunc(list, notWhole) {
		r.wrong(key, "a list of integers")
		return nil
	}
	out := make([]int64, 0, len(list))
	for _, v := range list {
		out = append(out, int64(v.(float64)))
	}
	return out
}

// ratio reads a number. One outside 0 to 1 is kept, because session-orchestrator keeps it, but it is odd.
func (r *stateReader) ratio(key string) *float64 {
	n, ok := r.front[key].(float64)
	if !ok || finite(&n) == nil {
		if r.front[key] != nil {
			r.wrong(key, "a number")
		}
		return nil
	}
	if n < 0 || n > 1 {
		r.wrong(key, "0 to 1")
	}
	return &n
}
