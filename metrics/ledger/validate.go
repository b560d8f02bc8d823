package ledger

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Problems returns what is wrong with one line of sessions.jsonl by the rules
// of schema 2, each as "field: fact". It is nil for a valid record. Versions 0
// to 3 and a missing version are accepted, as other readers do.
func Problems(line []byte) []string {
	var rec map[string]any
	if err := json.Unmarshal(line, &rec); err != nil || rec == nil {
		return []string{"record: not a JSON object"}
	}
	c := checker{rec: rec}
	c.version()
	c.nonEmptyString("session_id")
	if t, _ := rec["session_type"].(string); !slices.Contains(SessionTypes(), t) {
		c.add("session_type: %q is none of %s", t, strings.Join(SessionTypes(), ", "))
	}
	start, okStart := c.stamp("started_at")
	end, okEnd := c.stamp("completed_at")
	if okStart && okEnd && end.Before(start) {
		c.add("completed_at: before started_at")
	}
	for _, f := range []string{"total_waves", "total_agents", "total_files_changed"} {
		c.count(rec, f, f)
	}
	c.waves()
	summary, ok := rec["agent_summary"].(map[string]any)
	if !ok {
		c.add("agent_summary: not an object")
	}
	for _, f := range []string{"complete", "partial", "failed", "spiral"} {
		if ok {
			c.count(summary, f, "agent_summary."+f)
		}
	}
	c.optional()
	return c.problems
}

// SessionTypes returns the session types that a record may carry.
func SessionTypes() []string { return []string{"feature", "deep", "housekeeping"} }

type checker struct {
	rec      map[string]any
	problems []string
}

func (c *checker) add(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func (c *checker) nonEmptyString(field string) {
	if s, ok := c.rec[field].(string); !ok || s == "" {
		c.add("%s: not a non-empty string", field)
	}
}

func (c *checker) version() {
	v := c.rec["schema_version"]
	if n, ok := v.(float64); v != nil && !(ok && slices.Contains([]float64{0, 1, 2, 3}, n)) {
		c.add("schema_version: %v is none of 0 to 3", v)
	}
}

func (c *checker) stamp(field string) (time.Time, bool) {
	s, _ := c.rec[field].(string)
	t, ok := parseStamp(s)
	if !ok {
		c.add("%s: %q is not UTC with whole seconds or three decimals", field, s)
	}
	return t, ok
}

func parseStamp(s string) (time.Time, bool) {
	form := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$`)
	t, err := time.Parse(time.RFC3339Nano, s)
	return t, err == nil && form.MatchString(s)
}

func (c *checker) count(in map[string]any, field, name string) {
	if n, ok := in[field].(float64); !ok || n < 0 {
		c.add("%s: not a number of at least 0", name)
	}
}

func (c *checker) waves() {
	list, ok := c.rec["waves"].([]any)
	if !ok {
		c.add("waves: not an array")
		return
	}
	for i, w := range list {
		o, _ := w.(map[string]any)
		if n, ok := o["wave"].(float64); !ok || n < 1 {
			c.add("waves[%d].wave: not a number of at least 1", i)
		}
		if r, ok := o["role"].(string); !ok || r == "" {
			c.add("waves[%d].role: not a non-empty string", i)
		}
	}
}

// optional checks the shape of fields that may be absent or null, and of two that
// may be absent but not null.
func (c *checker) optional() {
	kind := func(fields, want string, ok func(any) bool) {
		for f := range strings.FieldsSeq(fields) {
			if v, present := c.rec[f]; present && v != nil && !ok(v) {
				c.add("%s: not %s", f, want)
			}
		}
	}
	kind("effectiveness discovery_stats review_stats", "an object", is[map[string]any])
	kind("platform branch base_branch notes", "a string", is[string])
	kind("agent_identity worktree_path parent_run_id _backfill_source", "a non-empty string", func(v any) bool { return is[string](v) && v != "" })
	kind("duration_seconds total_token_input total_token_output lease_ttl_seconds", "a number of at least 0",
		func(v any) bool { n, ok := v.(float64); return ok && n >= 0 })
	kind("subagents_with_tokens open_questions_asked open_questions_answered open_questions_deferred", "a whole number of at least 0",
		func(v any) bool { n, ok := v.(float64); return ok && n >= 0 && n == math.Trunc(n) })
	kind("lease_acquired_at", "UTC with whole seconds or three decimals",
		func(v any) bool { s, _ := v.(string); _, ok := parseStamp(s); return ok })
	kind("status", "completed or abandoned", func(v any) bool { return v == StatusCompleted || v == StatusAbandoned })
	kind("expected_cost_tier", "quick, standard or deep", func(v any) bool { return v == "quick" || v == "standard" || v == "deep" })
	kind("_session_type_inferred _synthetic_session_id", "true or false", is[bool])
	kind("_backfill_incomplete_fields", "an array of strings", allAre[string])
	for _, f := range []string{"issues_closed", "issues_created"} {
		if v, present := c.rec[f]; present && !allAre[float64](v) {
			c.add("%s: not an array of numbers", f)
		}
	}
}

func is[T any](v any) bool { _, ok := v.(T); return ok }

func allAre[T any](v any) bool {
	list, ok := v.([]any)
	return ok && !slices.ContainsFunc(list, func(e any) bool { return !is[T](e) })
}
