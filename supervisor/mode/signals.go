package mode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Signals is what is known about a repository before a session is chosen. Every field is optional; the JSON names are
// those of session-orchestrator. For a slice or map nil means absent, while empty means present with nothing in it.
type Signals struct {
	// RecommendedMode is what the last session proposed for the next one; empty when it proposed nothing.
	RecommendedMode Mode `json:"recommendedMode"`
	// TopPriorities holds issue numbers; only their count matters here.
	TopPriorities []int64 `json:"topPriorities"`
	// CarryoverRatio is the share of planned issues that the last session left open, 0 to 1.
	CarryoverRatio *float64 `json:"carryoverRatio"`
	// CompletionRate is the share of planned issues that the last session finished, 0 to 1.
	CompletionRate *float64 `json:"completionRate"`
	// PreviousRationale is the last session's reason for RecommendedMode. It is not weighed.
	PreviousRationale string `json:"previousRationale"`
	// RecentSessions are the last sessions that really took place, oldest first.
	RecentSessions []Session `json:"recentSessions"`
	// BootstrapLock holds the keys of bootstrap.lock; only "tier" is weighed.
	BootstrapLock map[string]string `json:"bootstrapLock"`
	// Learnings are the most trusted learnings, best first.
	Learnings []Learning `json:"learnings"`
	// Backlog and VaultStaleness are carried for other readers. They are not weighed.
	Backlog        json.RawMessage `json:"backlog"`
	VaultStaleness json.RawMessage `json:"vaultStaleness"`
	// TaskDescriptionText is the text of the work at hand, searched for phrases that announce very wide changes.
	TaskDescriptionText string `json:"taskDescriptionText"`
}

// Session is the part of a session record that is weighed.
type Session struct {
	ID             string         `json:"session_id,omitempty"`
	Type           Mode           `json:"session_type,omitempty"`
	Status         string         `json:"status,omitempty"`
	CompletionRate *float64       `json:"completion_rate,omitempty"`
	Effectiveness  *Effectiveness `json:"effectiveness,omitempty"`
}

// Effectiveness is the part of a session record's effectiveness object that is weighed. Absent numbers are nil.
type Effectiveness struct {
	PlannedIssues  *float64 `json:"planned_issues,omitempty"`
	Carryover      *float64 `json:"carryover,omitempty"`
	CompletionRate *float64 `json:"completion_rate,omitempty"`
}

// Rate returns the share of planned issues the session finished, and false when the record does not say. The record's
// own completion_rate goes first, the one inside effectiveness second.
func (s Session) Rate() (float64, bool) {
	if r := finite(s.CompletionRate); r != nil {
		return *r, true
	}
	if s.Effectiveness != nil {
		if r := finite(s.Effectiveness.CompletionRate); r != nil {
			return *r, true
		}
	}
	return 0, false
}

// Learning is the part of a learning that is weighed, or that decides whether it is still of use. Times are kept as
// they were written; one that cannot be read counts as absent.
type Learning struct {
	Type           string  `json:"type,omitempty"`
	Subject        string  `json:"subject,omitempty"`
	Confidence     float64 `json:"confidence"`
	ExpiresAt      string  `json:"expires_at,omitempty"`
	LastReinforced string  `json:"last_reinforced,omitempty"`
	LastAccessed   string  `json:"last_accessed,omitempty"`
	UpdatedAt      string  `json:"updated_at,omitempty"`
	CreatedAt      string  `json:"created_at,omitempty"`
}

// UnknownKeyError is returned when signals hold a key that is none.
type UnknownKeyError struct {
	Key string
}

// Error names the key.
func (e *UnknownKeyError) Error() string { return fmt.Sprintf("unknown key %q", clip(e.Key)) }

// Unknown returns the key, and those that are known.
func (e *UnknownKeyError) Unknown() (key string, known []string) { return e.Key, signalKeys() }

// ParseSignals reads signals from one JSON object. It is strict: a key that is no signal is refused by name with an
// *UnknownKeyError, and so is a value of the wrong type, also inside sessions and learnings. Sessions and learnings may carry further keys, because
// their records have many that are not weighed. null stands for absent everywhere except inside topPriorities.
func ParseSignals(data []byte) (Signals, error) {
	f, err := parseFields(data)
	if err != nil {
		return Signals{}, fmt.Errorf("parse signals: %w", err)
	}
	for _, key := range slices.Sorted(maps.Keys(f.members)) {
		if !slices.Contains(signalKeys(), key) {
			return Signals{}, fmt.Errorf("parse signals: %w", &UnknownKeyError{Key: key})
		}
	}
	s := Signals{
		RecommendedMode:     Mode(f.text("recommendedMode")),
		TopPriorities:       f.integers("topPriorities"),
		CarryoverRatio:      f.number("carryoverRatio"),
		CompletionRate:      f.number("completionRate"),
		PreviousRationale:   f.text("previousRationale"),
		RecentSessions:      listOf(f, "recentSessions", sessionFrom),
		BootstrapLock:       f.texts("bootstrapLock"),
		Learnings:           listOf(f, "learnings", learningFrom),
		Backlog:             f.raw("backlog"),
		VaultStaleness:      f.raw("vaultStaleness"),
		TaskDescriptionText: f.text("taskDescriptionText"),
	}
	if f.err != nil {
		return Signals{}, fmt.Errorf("parse signals: %w", f.err)
	}
	return s, nil
}

func signalKeys() []string {
	return []string{
		"recommendedMode", "topPriorities", "carryoverRatio", "completionRate", "previousRationale", "recentSessions",
		"bootstrapLock", "learnings", "backlog", "vaultStaleness", "taskDescriptionText",
	}
}

// sessionFrom reads a session record. Two older names of session_type count only where the key itself is absent.
func sessionFrom(f *fields) Session {
	typeKey := "session_type"
	for _, alias := range []string{"type", "mode"} {
		if !f.has(typeKey) && f.has(alias) {
			typeKey = alias
		}
	}
	s := Session{
		ID:             f.text("session_id"),
		Type:           Mode(f.text(typeKey)),
		Status:         f.text("status"),
		CompletionRate: f.number("completion_rate"),
	}
	if e := f.object("effectiveness"); e != nil {
		s.Effectiveness = &Effectiveness{
			PlannedIssues:  e.number("planned_issues"),
			Carryover:      e.number("carryover"),
			CompletionRate: e.number("completion_rate"),
		}
		f.note(e.err)
	}
	return s
}

func learningFrom(f *fields) Learning {
	l := Learning{
		Type:           f.text("type"),
		Subject:        f.text("subject"),
		ExpiresAt:      f.text("expires_at"),
		LastReinforced: f.text("last_reinforced"),
		LastAccessed:   f.text("last_accessed"),
		UpdatedAt:      f.text("updated_at"),
		CreatedAt:      f.text("created_at"),
	}
	if c := f.number("confidence"); c != nil {
		l.Confidence = *c
	}
	return l
}

// finite returns p unless it is nil or holds no finite number: what cannot be compared counts as absent.
func finite(p *float64) *float64 {
	if p == nil || math.IsNaN(*p) || math.IsInf(*p, 0) {
		return nil
	}
	return p
}

// present returns raw, or nil for what JSON calls null.
func present(raw json.RawMessage) json.RawMessage {
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return nil
	}
	return raw
}
