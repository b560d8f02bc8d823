package mode

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strings"
	"time"
)

const (
	sessionsFile  = ".orchestrator/metrics/sessions.jsonl"
	learningsFile = ".orchestrator/metrics/learnings.jsonl"
	lockFile      = ".orchestrator/bootstrap.lock"
	backlogSource = "backlog"

	sessionWindow  = 10
	learningWindow = 15
)

// Warning tells that a source of signals is there but could not be used in full. Source is its path below the
// repository, or "backlog".
type Warning struct {
	Source string `json:"source"`
	Text   string `json:"text"`
}

// Options say how LoadWith goes about it. The zero value is what Load does.
type Options struct {
	// Decay is how learnings lose trust; nil for DefaultDecay.
	Decay *Decay
	// Backlog asks for the open issues, as one JSON value. It is called once in every LoadWith, so that each session is
	// chosen by the backlog of its time; nil when there is no tracker to ask. It answers for its own time limit.
	Backlog func() (json.RawMessage, error)
}

// Load gathers the signals of the repository at repo: the recommendation in .claude/STATE.md, the last 10 sessions of
// the session ledger that were not abandoned, the keys of bootstrap.lock, and the 15 learnings that deserve most trust
// at now. A missing source is left out in silence; a broken one, or a broken line, gives a warning and nothing else. The
// signals are nil only when none of the four files is there.
func Load(repo string, now time.Time) (*Signals, []Warning) {
	return LoadWith(repo, now, Options{})
}

// LoadWith is Load with options. A backlog that cannot be had, or is no JSON, gives a warning and no backlog; one that
// is there counts as a fifth source, and the signals are not nil then.
func LoadWith(repo string, now time.Time, o Options) (*Signals, []Warning) {
	decay := DefaultDecay()
	if o.Decay != nil {
		decay = o.Decay.sound()
	}
	l := loader{repo: repo}
	l.state()
	l.sessions()
	l.lock()
	l.learnings(now, decay)
	l.backlog(o.Backlog)
	if !l.found {
		return nil, l.warnings
	}
	return &l.signals, l.warnings
}

type loader struct {
	repo     string
	signals  Signals
	warnings []Warning
	found    bool
}

func (l *loader) path(source string) string {
	return filepath.Join(l.repo, filepath.FromSlash(source))
}

func (l *loader) warn(source, format string, args ...any) {
	l.warnings = append(l.warnings, Warning{Source: source, Text: fmt.Sprintf(format, args...)})
}

// usable notes that a source is there, warns when it cannot be read, and reports whether it can.
func (l *loader) usable(source string, err error) bool {
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	l.found = true
	if err != nil {
		l.warn(source, "%v", err)
	}
	return err == nil
}

func (l *loader) state() {
	state, found, oddities, err := loadState(l.repo)
	if !found || !l.usable(stateFile, err) {
		return
	}
	for _, oddity := range oddities {
		l.warn(stateFile, "%s", oddity)
	}
	l.signals.RecommendedMode = state.RecommendedMode
	l.signals.TopPriorities = state.TopPriorities
	l.signals.CarryoverRatio = state.CarryoverRatio
	l.signals.CompletionRate = state.CompletionRate
	l.signals.PreviousRationale = state.Rationale
}

func (l *loader) sessions() {
	found, err := tail(l.path(sessionsFile), sessionWindow, func(f *fields) (Session, bool) {
		s := sessionFrom(f)
		return s, s.Status != "abandoned"
	})
	if l.usable(sessionsFile, err) {
		l.signals.RecentSessions = found.records
		l.damage(sessionsFile, found.broken, found.lastBroken, found.cut)
	}
}

func (l *loader) learnings(now time.Time, decay Decay) {
	found, err := tail(l.path(learningsFile), math.MaxInt, func(f *fields) (Learning, bool) {
		return learningFrom(f), true
	})
	if l.usable(learningsFile, err) {
		l.signals.Learnings = surface(found.records, now, learningWindow, decay)
		l.damage(learningsFile, found.broken, found.lastBroken, found.cut)
	}
}

func (l *loader) backlog(ask func() (json.RawMessage, error)) {
	if ask == nil {
		return
	}
	answer, err := ask()
	switch {
	case err != nil:
		l.warn(backlogSource, "%s", clip(err.Error()))
	case !json.Valid(answer):
		l.warn(backlogSource, "the answer is not one JSON value")
	default:
		l.signals.Backlog = present(answer)
		l.found = l.found || l.signals.Backlog != nil
	}
}

func (l *loader) damage(source string, broken int, lastBroken int64, cut bool) {
	if broken > 0 {
		l.warn(source, "lines without a JSON object: %d, the last of them at byte %d", broken, lastBroken)
	}
	if cut {
		l.warn(source, "only the last %d bytes were read", maxTail)
	}
}

// lock reads flat "key: value" lines. All values are text; a line without a colon says nothing.
func (l *loader) lock() {
	data, err := readHead(l.path(lockFile))
	if !l.usable(lockFile, err) {
		return
	}
	l.signals.BootstrapLock = map[string]string{}
	for line := range strings.Lines(strings.TrimPrefix(string(data), byteOrderMark)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		key = strings.TrimSpace(key)
		if ok && key != "" && !strings.HasPrefix(key, "#") {
			l.signals.BootstrapLock[key] = strings.TrimSpace(value)
		}
	}
	if tier, ok := l.signals.BootstrapLock["tier"]; ok {
		if _, ok := aligned(tier); !ok {
			l.warn(lockFile, "tier is %.40q, want fast, standard or deep", tier)
		}
	}
}
