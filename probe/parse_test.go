package probe

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/probe/peer"
	"autopilot/probe/tier"
)

func full() Snapshot {
	return Snapshot{
		Signals: tier.Signals{
			RAMAvailableGB: new(5.25), SwapUsedGB: new(0.0), Peers: new(2), MemoryPressurePctFree: new(47.0),
		},
		TakenAt:            time.Date(2026, 11, 21, 3, 4, 5, 600, time.UTC),
		RAMTotalGB:         new(16.0),
		RAMBoundedBy:       BoundedByCgroup,
		PSIMemorySomeAvg10: new(0.5),
		Load1m:             new(1.5),
		CPUs:               8,
		PeerSessions:       []peer.Session{{PID: 7, Comm: "claude", Cmdline: "claude", CWD: "/x"}, {PID: 9, Comm: "node", Cmdline: "node /usr/bin/claude"}},
		DurationMS:         1.234,
		Absent:             []Absence{{Signal: "cgroup", Reason: "read x: denied"}},
	}
}

func TestParseSnapshotRoundTrip(t *testing.T) {
	t.Parallel()
	for _, want := range []Snapshot{full(), {}, {Absent: []Absence{}, PeerSessions: []peer.Session{}}} {
		data, err := json.MarshalIndent(want, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseSnapshot(append(data, '\n'))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("snapshot after a round trip (-want +got):\n%s", diff)
		}
	}
}

func TestParseSnapshotKnowsEveryField(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(full())
	if err != nil {
		t.Fatal(err)
	}
	var written map[string]json.RawMessage
	if err := json.Unmarshal(data, &written); err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for key := range written {
		want = append(want, key)
	}
	for _, f := range new(Snapshot).fields() {
		got = append(got, f.name)
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields written and fields read (-want +got):\n%s", diff)
	}
}

func TestParseSnapshotAccepts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     Snapshot
	}{
		{"nothing in it", " {} \n", Snapshot{}},
		{"null is absent", `{"peers":null,"ram_available_gb":null,"taken_at":null,"absent":null}`, Snapshot{}},
		{"some", `{"ram_available_gb": 8, "peers": 7}`, Snapshot{Signals: tier.Signals{RAMAvailableGB: new(8.0), Peers: new(7)}}},
		{"a whole number with a point", `{"peers":3.0}`, Snapshot{Signals: tier.Signals{Peers: new(3)}}},
		{"an exponent", `{"swap_used_gb":1.5e0}`, Snapshot{Signals: tier.Signals{SwapUsedGB: new(1.5)}}},
	}
	for _, tt := range tests {
		got, err := ParseSnapshot([]byte(tt.in))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestParseSnapshotRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{
		{"", "parse snapshot: input is empty"},
		{" \n\t", "parse snapshot: input is empty"},
		{"null", "parse snapshot: want an object, got null"},
		{"[]", "parse snapshot: want an object, got a list"},
		{"7", "parse snapshot: want an object, got a number"},
		{"hello", "parse snapshot: want an object, got no JSON"},
		{"\ufeff{}", "parse snapshot: want an object, got no JSON"},
		{`{} x`, "parse snapshot: something follows the object"},
		{`{}{}`, "parse snapshot: something follows the object"},
		{`{"peers":1}}`, "parse snapshot: something follows the object"},
		{`{"peers":`, "parse snapshot: peers: input ends inside the object"},
		{`{"peers":1`, "parse snapshot: input ends inside the object"},
		{`{`, "parse snapshot: input ends inside the object"},
		{`{"peers":1,}`, "parse snapshot: invalid character '}'"},
		{`{"peers":1 "cpus":2}`, "parse snapshot: invalid character '\"' after object key:value pair"},
		{`{peers:1}`, "parse snapshot: invalid character 'p'"},

		{`{"peer":1}`, `parse snapshot: unknown field "peer", the nearest known is "peers"`},
		{`{"ram_free_gb":1}`, `parse snapshot: unknown field "ram_free_gb", the nearest known is "ram_total_gb"`},
		{`{"ram_available":1}`, `parse snapshot: unknown field "ram_available", the nearest known is "ram_available_gb"`},
		{`{"Peers":1}`, `parse snapshot: unknown field "Peers", the nearest known is "peers"`},
		{`{"":1}`, `parse snapshot: unknown field "", the nearest known is "cpus"`},
		{`{"peers":1,"peers":1}`, "parse snapshot: peers is given twice"},

		{`{"ram_available_gb":"8"}`, "parse snapshot: ram_available_gb: want a number or null, got a string"},
		{`{"swap_used_gb":true}`, "parse snapshot: swap_used_gb: want a number or null, got a boolean"},
		{`{"peers":[1]}`, "parse snapshot: peers: want a number or null, got a list"},
		{`{"peers":{}}`, "parse snapshot: peers: want a number or null, got an object"},
		{`{"ram_available_gb":NaN}`, "parse snapshot: ram_available_gb: invalid character 'N'"},
		{`{"ram_available_gb":-0.1}`, "parse snapshot: ram_available_gb: -0.1 is negative"},
		{`{"swap_used_gb":-0}`, "parse snapshot: swap_used_gb: -0 is negative"},
		{`{"swap_used_gb":1e999}`, "parse snapshot: swap_used_gb: 1e999 is out of range"},
		{`{"peers":-1}`, "parse snapshot: peers: -1 is negative"},
		{`{"peers":2.5}`, "parse snapshot: peers: 2.5 is not a whole number"},
		{`{"peers":1e10}`, "parse snapshot: peers: 1e10 is over"},
		{`{"memory_pressure_pct_free":101}`, "parse snapshot: memory_pressure_pct_free: 101 is over 100"},
		{`{"psi_memory_some_avg10":100.1}`, "parse snapshot: psi_memory_some_avg10: 100.1 is over 100"},
		{`{"cpus":1.5}`, "parse snapshot: cpus: 1.5 is not a whole number"},
		{`{"taken_at":7}`, "parse snapshot: taken_at: want a string or null, got a number"},
		{`{"taken_at":"yesterday"}`, `parse snapshot: taken_at: "yesterday" is no time`},
		{`{"ram_bounded_by":"vm"}`, `parse snapshot: ram_bounded_by: want "host" or "cgroup", got "vm"`},
		{`{"peer_sessions":7}`, "parse snapshot: peer_sessions: want a list or null, got a number"},
		{`{"peer_sessions":[{"pid":1},{"pid":"2"}]}`, "parse snapshot: peer_sessions: item 1: pid: want a number or null, got a string"},
		{`{"peer_sessions":[null]}`, "parse snapshot: peer_sessions: item 0: want an object, got null"},
		{`{"peer_sessions":[{"cmd":""}]}`, `parse snapshot: peer_sessions: item 0: unknown field "cmd", the nearest known is "cwd"`},
		{`{"absent":[{"signal":1}]}`, "parse snapshot: absent: item 0: signal: want a string or null, got a number"},
	}
	for _, tt := range tests {
		s, err := ParseSnapshot([]byte(tt.in))
		if err == nil {
			t.Errorf("%s: got no error, want %q", tt.in, tt.want)
			continue
		}
		if !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s:\n got %v\nwant %v", tt.in, err, tt.want)
		}
		if diff := cmp.Diff(Snapshot{}, s); diff != "" {
			t.Errorf("%s: a refused snapshot must be empty:\n%s", tt.in, diff)
		}
	}
}

func FuzzParseSnapshot(f *testing.F) {
	data, err := json.Marshal(full())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"peers":3.0,"ram_available_gb":null}`))
	f.Add([]byte(`{"peer_sessions":[{}],"absent":[]}`))
	f.Add([]byte(`{"peers":1}}`))
	f.Add([]byte(`{"taken_at":"2026-11-21T03:04:05+01:00"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseSnapshot(data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "parse snapshot: ") {
				t.Errorf("error %q does not say what failed", err)
			}
			return
		}
		if !json.Valid(data) {
			t.Fatalf("accepted what is no JSON: %q", data)
		}
		for _, p := range tier.Judge(s.Signals, 6).Parts {
			if p.Absent && !strings.HasSuffix(p.Reason, "not measured") {
				t.Errorf("accepted a value that the verdict refuses: %s", p.Reason)
			}
		}
		again, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := ParseSnapshot(again)
		if err != nil {
			t.Fatalf("refused its own output %s: %v", again, err)
		}
		if diff := cmp.Diff(s, parsed); diff != "" {
			t.Errorf("after a round trip (-want +got):\n%s", diff)
		}
	})
}
