package mode

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestParseSignals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     Signals
	}{
		{"empty", `{}`, Signals{}},
		{"null", ` null `, Signals{}},
		{"nulls", `{"recommendedMode":null,"topPriorities":null,"carryoverRatio":null,"completionRate":null,"previousRationale":null,
			"recentSessions":null,"bootstrapLock":null,"learnings":null,"backlog":null,"vaultStaleness": null ,"taskDescriptionText":null}`, Signals{}},
		{
			"all", `{"recommendedMode":"deep","topPriorities":[3,4.0,-1],"carryoverRatio":0.25,"completionRate":1,"previousRationale":"why",
			"recentSessions":[{"session_id":"a","session_type":"deep","status":"completed","completion_rate":0.5,"waves":[{}],
				"effectiveness":{"planned_issues":4,"carryover":1,"completion_rate":0.75,"emergent":2}},null],
			"bootstrapLock":{"tier":"deep","version":null},"learnings":[{"type":"effective-sizing","subject":"s","confidence":0.7,
				"expires_at":"e","last_reinforced":"r","last_accessed":"a","updated_at":"u","created_at":"c","id":7}],
			"backlog":{"open":3},"vaultStaleness":1,"taskDescriptionText":"text"}`,
			Signals{
				RecommendedMode: Deep, TopPriorities: []int64{3, 4, -1}, CarryoverRatio: num(0.25), CompletionRate: num(1),
				PreviousRationale: "why",
				RecentSessions: []Session{{
					ID: "a", Type: Deep, Status: "completed", CompletionRate: num(0.5),
					Effectiveness: &Effectiveness{PlannedIssues: num(4), Carryover: num(1), CompletionRate: num(0.75)},
				}, {}},
				BootstrapLock: map[string]string{"tier": "deep"},
				Learnings: []Learning{{
					Type: "effective-sizing", Subject: "s", Confidence: 0.7, ExpiresAt: "e",
					LastReinforced: "r", LastAccessed: "a", UpdatedAt: "u", CreatedAt: "c",
				}},
				Backlog: json.RawMessage(`{"open":3}`), VaultStaleness: json.RawMessage(`1`), TaskDescriptionText: "text",
			},
		},
		{
			"empty is not absent", `{"topPriorities":[],"recentSessions":[],"bootstrapLock":{},"learnings":[]}`,
			Signals{TopPriorities: []int64{}, RecentSessions: []Session{}, BootstrapLock: map[string]string{}, Learnings: []Learning{}},
		},
		{
			"older names of the type", `{"recentSessions":[{"type":"deep","mode":"feature"},{"mode":"feature"},{"session_type":null,"type":"deep"}]}`,
			Signals{RecentSessions: []Session{{Type: Deep}, {Type: Feature}, {}}},
		},
		{"an unknown mode is kept", `{"recommendedMode":"banana"}`, Signals{RecommendedMode: "banana"}},
	}
	for _, tt := range tests {
		got, err := ParseSignals([]byte(tt.in))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestParseSignalsRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{``, `parse signals: unexpected end of JSON input`},
		{`{} {}`, `parse signals: invalid character '{' after top-level value`},
		{" \n[]", `parse signals: found a list, want an object`},
		{`"x"`, `parse signals: found a string, want an object`},
		{`{"recomendedMode":"deep"}`, `parse signals: unknown key "recomendedMode"`},
		{`{"RecommendedMode":"deep"}`, `parse signals: unknown key "RecommendedMode"`},
		{`{"b":1,"a":1}`, `parse signals: unknown key "a"`},
		{`{"recommendedMode":1}`, `parse signals: recommendedMode is the number 1, want a string`},
		{`{"carryoverRatio":"0.2"}`, `parse signals: carryoverRatio is a string, want a finite number`},
		{`{"completionRate":1e999}`, `parse signals: completionRate is the number 1e999, want a finite number`},
		{`{"topPriorities":{}}`, `parse signals: topPriorities is an object, want a list of integers`},
		{`{"topPriorities":[1,2.5]}`, `parse signals: topPriorities[1] is the number 2.5, want an integer`},
		{`{"topPriorities":[null]}`, `parse signals: topPriorities[0] is null, want an integer`},
		{`{"topPriorities":["7"]}`, `parse signals: topPriorities[0] is a string, want an integer`},
		{`{"recentSessions":{}}`, `parse signals: recentSessions is an object, want a list of objects`},
		{`{"recentSessions":[{},5]}`, `parse signals: recentSessions[1] is the number 5, want an object`},
		{`{"recentSessions":[{"session_type":true}]}`, `parse signals: recentSessions[0].session_type is a boolean, want a string`},
		{`{"recentSessions":[{"mode":[]}]}`, `parse signals: recentSessions[0].mode is a list, want a string`},
		{`{"recentSessions":[{"effectiveness":[]}]}`, `parse signals: recentSessions[0].effectiveness is a list, want an object`},
		{`{"recentSessions":[{"effectiveness":{"carryover":"1"}}]}`, `parse signals: recentSessions[0].effectiveness.carryover is a string, want a finite number`},
		{`{"learnings":[{"confidence":"high"}]}`, `parse signals: learnings[0].confidence is a string, want a finite number`},
		{`{"bootstrapLock":{"version":1}}`, `parse signals: bootstrapLock.version is the number 1, want a string`},
		{`{"bootstrapLock":"deep"}`, `parse signals: bootstrapLock is a string, want an object`},
		{`{"taskDescriptionText":{}}`, `parse signals: taskDescriptionText is an object, want a string`},
	}
	for _, tt := range tests {
		got, err := ParseSignals([]byte(tt.in))
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.in, err, tt.want)
		}
		if diff := cmp.Diff(Signals{}, got); diff != "" {
			t.Errorf("%s: a refused text gives signals:\n%s", tt.in, diff)
		}
	}
}

func TestRate(t *testing.T) {
	t.Parallel()
	both := Session{CompletionRate: num(0.2), Effectiveness: &Effectiveness{CompletionRate: num(0.9)}}
	tests := []struct {
		name    string
		session Session
		want    float64
		ok      bool
	}{
		{"neither", Session{Effectiveness: &Effectiveness{}}, 0, false},
		{"top level", rated(Deep, 0), 0, true},
		{"nested", nested(Deep, 0.9), 0.9, true},
		{"top level goes first", both, 0.2, true},
		{"not a number at the top level", Session{CompletionRate: num(math.NaN()), Effectiveness: both.Effectiveness}, 0.9, true},
	}
	for _, tt := range tests {
		if got, ok := tt.session.Rate(); got != tt.want || ok != tt.ok {
			t.Errorf("%s: got %v %t, want %v %t", tt.name, got, ok, tt.want, tt.ok)
		}
	}
}

func TestSignalsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := anySignals().Filter(func(s *Signals) bool {
			_, err := json.Marshal(s) // refuses numbers that are not finite
			return err == nil
		}).Draw(t, "signals")
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseSignals(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(*want, got); diff != "" {
			t.Fatalf("after %s (-want +got):\n%s", data, diff)
		}
	})
}

func FuzzParseSignals(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"recommendedMode":"feature","topPriorities":[1],"bootstrapLock":{"tier":"standard"}}`,
		`{"recentSessions":[{"mode":"deep","effectiveness":{"carryover":1,"planned_issues":2}},null],"learnings":[{"type":"effective-sizing"}]}`,
		`{"carryoverRatio":1e308,"completionRate":-0}`, `{"a":`, `[1]`, `{"recommendedMode":"\ud800"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSignals(data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "parse signals: ") {
				t.Fatalf("error %q does not name the operation", err)
			}
			return
		}
		checkPromises(t, Select(&s))
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		back, err := ParseSignals(again)
		if err != nil {
			t.Fatalf("cannot read back %s: %v", again, err)
		}
		if diff := cmp.Diff(s, back, cmpopts.IgnoreFields(Signals{}, "Backlog", "VaultStaleness")); diff != "" {
			t.Fatalf("read back (-first +second):\n%s", diff)
		}
	})
}
