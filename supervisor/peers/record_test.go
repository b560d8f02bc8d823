package peers

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// theirs is a lock as session-orchestrator makes it.
const theirs = `{
  "session_id": "0b6f6a3e-54b1-4a43-9a55-1d2a7d3b1c11",
  "started_at": "2026-03-04T08:00:00.000Z",
  "last_heartbeat": "2026-03-04T11:30:00.250Z",
  "mode": "deep",
  "pid": 4242,
  "host": "builder",
  "ttl_hours": 4,
  "semantic_session_id": "main-2026-03-04-deep-1"
}
`

func noon() time.Time { return time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC) }

func TestParseLock(t *testing.T) {
	t.Parallel()
	r, err := parseLock([]byte(theirs))
	if err != nil {
		t.Fatal(err)
	}
	want := record{
		sessionID: "0b6f6a3e-54b1-4a43-9a55-1d2a7d3b1c11", mode: "deep", pid: 4242, host: "builder", ttl: 4 * time.Hour,
		started:   time.Date(2026, 3, 4, 8, 0, 0, 0, time.UTC),
		heartbeat: time.Date(2026, 3, 4, 11, 30, 0, 250e6, time.UTC),
	}
	if r != want {
		t.Errorf("parseLock = %+v, want %+v", r, want)
	}
	first, err := parseLock([]byte(strings.Replace(theirs, `"last_heartbeat": "2026-03-04T11:30:00.250Z",`, "", 1)))
	if err != nil || first.heartbeat != want.started {
		t.Errorf("without a heartbeat = %v, %v, want the start", first.heartbeat, err)
	}
	for _, change := range [][2]string{
		{`"session_id"`, `"Session_ID"`},
		{`"0b6f6a3e-54b1-4a43-9a55-1d2a7d3b1c11"`, `7`},
		{`"deep"`, `null`},
		{`4242`, `"4242"`},
		{`"builder"`, `{}`},
		{`"ttl_hours": 4`, `"ttl_hours": null`},
		{`"started_at": "2026-03-04T08:00:00.000Z",`, ``},
		{"}\n", ""},
		{theirs, "[]"},
		{theirs, "null"},
		{theirs, ""},
		{theirs, theirs + theirs},
	} {
		if _, err := parseLock([]byte(strings.Replace(theirs, change[0], change[1], 1))); err == nil {
			t.Errorf("%s as %s: accepted", change[0], change[1])
		}
	}
	for ttl, want := range map[string]time.Duration{"0.5": 30 * time.Minute, "-3": 0, "0": 0, "1e300": maxTTL} {
		r, err := parseLock([]byte(strings.Replace(theirs, `"ttl_hours": 4`, `"ttl_hours": `+ttl, 1)))
		if err != nil || r.ttl != want {
			t.Errorf("ttl_hours %s = %v, %v, want %v", ttl, r.ttl, err, want)
		}
	}
}

func TestParseEntry(t *testing.T) {
	t.Parallel()
	const entry = `{"session_id":"a","last_heartbeat":"2026-03-04T11:30:00.250Z","started_at":"x","repo_path_hash":"h","mode":"plan","pid":1.5}`
	for change, ok := range map[string]bool{
		"":                        true,
		`"mode":"plan",>`:         true,
		`"plan">null`:             true,
		`"plan">3`:                false,
		`"plan">["plan"]`:         false,
		`"a">1`:                   false,
		`"started_at":"x",>`:      false,
		`"last_heartbeat">"beat"`: false,
		`{>`:                      false,
	} {
		old, repl, _ := strings.Cut(change, ">")
		r, err := parseEntry([]byte(strings.Replace(entry, old, repl, 1)))
		if (err == nil) != ok {
			t.Errorf("%s: error %v, want ok %v", change, err, ok)
		}
		if ok && (r.sessionID != "a" || r.pathHash != "h" || r.pid != 0 || !r.started.IsZero()) {
			t.Errorf("%s: %+v", change, r)
		}
	}
}

func TestAlive(t *testing.T) {
	t.Parallel()
	now, never := noon(), time.Time{}
	limit := 4 * time.Hour
	old := now.Add(-100 * time.Hour)
	tests := []struct {
		name            string
		beat, changed   time.Time
		lock, stillHere bool // as a lock, and where the limit itself is still fresh
	}{
		{"just now", now, old, true, true},
		{"a moment before the limit", now.Add(-limit + 1), old, true, true},
		{"at the limit", now.Add(-limit), old, false, true},
		{"a moment after the limit", now.Add(-limit - 1), now, false, false},
		{"a little ahead", now.Add(time.Hour), old, true, true},
		{"as far ahead as it may lie back", now.Add(limit), old, true, true},
		{"too far ahead, the file is new", now.Add(limit + 1), now.Add(-time.Hour), true, true},
		{"too far ahead, the file is old", now.Add(limit + 1), old, false, false},
		{"years ahead, and the file as well", now.AddDate(70, 0, 0), now.AddDate(70, 0, 0), false, false},
		{"no time, the file is new", never, now.Add(-time.Hour), true, true},
		{"no time, the file is old", never, old, false, false},
	}
	for _, tt := range tests {
		r := record{heartbeat: tt.beat, ttl: limit}
		if got := r.alive(tt.changed, now); got != tt.lock {
			t.Errorf("%s: alive = %v, want %v", tt.name, got, tt.lock)
		}
		if got := within(r.sign(tt.changed, now, limit), now, limit); got != tt.stillHere {
			t.Errorf("%s: within = %v, want %v", tt.name, got, tt.stillHere)
		}
	}
	if (record{heartbeat: now}).alive(now, now) {
		t.Error("a lock that says it lasts no time is alive")
	}
}

func TestParseTime(t *testing.T) {
	t.Parallel()
	utc := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	local := time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)
	tests := map[string]time.Time{
		"2026-03-04T05:06:07.000Z": utc, "2026-03-04T05:06:07Z": utc, " 2026-03-04T07:06:07+02:00 ": utc, "2026-03-04T07:06:07+0200": utc,
		"2026-03-04T05:06Z": utc.Add(-7 * time.Second), "2026-03-04": utc.Truncate(24 * time.Hour),
		"2026-03-04T05:06:07": local, "2026-03-04 05:06:07": local, "2026-03-04 05:06": local.Add(-7 * time.Second),
		"": {}, "yesterday": {}, "2026-13-04T05:06:07Z": {}, "1772600767": {},
	}
	for s, want := range tests {
		if got := parseTime(s); !got.Equal(want) {
			t.Errorf("parseTime(%q) = %v, want %v", s, got, want)
		}
	}
	if got, want := stamp(time.Date(2026, 3, 4, 7, 6, 7, 8_999_999, time.FixedZone("", 7200))), "2026-03-04T05:06:07.008Z"; got != want {
		t.Errorf("stamp = %s, want %s", got, want)
	}
}

func TestPathHash(t *testing.T) {
	t.Parallel()
	const want = "e7c7ea0ba435fd310e06a812a878b49ac2e1ffa26f10919d35caaaa22b239a7e"
	for _, dir := range []string{"/srv/shop", "/srv/shop/", "/srv/x/../shop"} {
		if got := pathHash(dir); got != want {
			t.Errorf("pathHash(%s) = %s, want %s", dir, got, want)
		}
	}
}

func FuzzHeartbeatAt(f *testing.F) {
	f.Add([]byte(theirs))
	f.Add([]byte(`{"last_heartbeat":"2026-03-04T11:30:00.250Z"}`))
	f.Add([]byte(`{"a":{"last_heartbeat":"2026-03-04T11:30:00.250Z"},"last_heartbeat":"x"}`))
	f.Add([]byte(`{"last_heartbeat":"2026-03-04T11:30:00.250Z","last_heartbeat":"\u0032026-03-04T11:30:00Z"}`))
	f.Add([]byte(`{"last_heartbeat" : 20260304113000250000000000}`))
	f.Add([]byte(`["last_heartbeat","2026-03-04T11:30:00.250Z"]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		at, ok := heartbeatAt(data)
		if !ok || !json.Valid(data) {
			return
		}
		now := stamp(noon())
		copy(data[at:], now)
		o, err := parseObject(data)
		if err != nil {
			t.Fatalf("a heartbeat at %d broke the record: %v", at, err)
		}
		if got, _ := o.text("last_heartbeat"); got != now {
			t.Fatalf("heartbeat = %q after a write at %d, want %q", got, at, now)
		}
	})
}
