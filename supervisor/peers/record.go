package peers

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"time"
)

const (
	// stampLayout is what Date.prototype.toISOString of JavaScript makes of a time in UTC:
	// always of the same length, which Beat counts on.
	stampLayout = "2006-01-02T15:04:05.000Z"

	defaultTTL    = 4 * time.Hour
	maxTTL        = 365 * 24 * time.Hour
	registryFresh = 15 * time.Minute
	stateFresh    = 4 * time.Hour
)

func stamp(t time.Time) string { return t.UTC().Format(stampLayout) }

// lockBody is a session lock as session-orchestrator writes it, in the order of its fields.
type lockBody struct {
	SessionID     string  `json:"session_id"`
	StartedAt     string  `json:"started_at"`
	LastHeartbeat string  `json:"last_heartbeat"`
	Mode          string  `json:"mode"`
	PID           int     `json:"pid"`
	Host          string  `json:"host"`
	TTLHours      float64 `json:"ttl_hours"`
	SemanticID    string  `json:"semantic_session_id,omitempty"`
}

// entryBody is an entry of the registry in the same way; what is not known is null there.
type entryBody struct {
	SessionID     string  `json:"session_id"`
	SemanticID    *string `json:"semantic_session_id"`
	PID           int     `json:"pid"`
	Platform      *string `json:"platform"`
	RepoPathHash  string  `json:"repo_path_hash"`
	RepoName      string  `json:"repo_name"`
	Branch        *string `json:"branch"`
	StartedAt     string  `json:"started_at"`
	LastHeartbeat string  `json:"last_heartbeat"`
	Status        string  `json:"status"`
	CurrentWave   int     `json:"current_wave"`
	HostClass     *string `json:"host_class"`
	Mode          *string `json:"mode"`
}

// encoded is a body as JSON.stringify with an indent of two makes it, and a line end.
func encoded(body any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(body); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// record is what one file, a lock or an entry of the registry, tells. The zero value stands for
// a file that is neither.
type record struct {
	sessionID string
	mode      string
	pid       int
	host      string
	pathHash  string
	started   time.Time
	heartbeat time.Time     // zero when it cannot be read as a time
	ttl       time.Duration // of a lock
}

var errNotRecord = errors.New("it is not a record of a session")

// parseLock reads a session lock. It accepts what session-orchestrator accepts, and nothing
// else: six fields of the right types. A lock of its first version has no heartbeat; its start
// stands for it.
func parseLock(data []byte) (record, error) {
	o, err := parseObject(data)
	if err != nil {
		return record{}, err
	}
	r := record{ttl: defaultTTL}
	id, ok1 := o.text("session_id")
	started, ok2 := o.text("started_at")
	mode, ok3 := o.text("mode")
	pid, ok4 := o.number("pid")
	host, ok5 := o.text("host")
	ttl, ok6 := o.number("ttl_hours")
	if !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || !ok6 {
		return record{}, errNotRecord
	}
	r.sessionID, r.mode, r.host, r.pid = id, mode, host, whole(pid)
	r.ttl = time.Duration(max(0, min(ttl, maxTTL.Hours())) * float64(time.Hour))
	r.started = parseTime(started)
	beat, _ := o.text("last_heartbeat")
	if beat == "" {
		beat = started
	}
	r.heartbeat = parseTime(beat)
	return r, nil
}

// parseEntry reads an entry of the registry. A mode that is there must be text or null.
func parseEntry(data []byte) (record, error) {
	o, err := parseObject(data)
	if err != nil {
		return record{}, err
	}
	id, ok1 := o.text("session_id")
	beat, ok2 := o.text("last_heartbeat")
	started, ok3 := o.text("started_at")
	mode, ok4 := o.text("mode")
	if raw, there := o["mode"]; !there || string(raw) == "null" {
		ok4 = true
	}
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return record{}, errNotRecord
	}
	pid, _ := o.number("pid")
	hash, _ := o.text("repo_path_hash")
	return record{
		sessionID: id, mode: mode, pid: whole(pid), pathHash: hash,
		started: parseTime(started), heartbeat: parseTime(beat),
	}, nil
}

// object is a JSON object by its exact keys. A struct would do for neither job: encoding/json
// minds no case in names, and cannot tell a missing field from an empty one.
type object map[string]json.RawMessage

func parseObject(data []byte) (object, error) {
	var o object
	if err := json.Unmarshal(data, &o); err != nil || o == nil {
		return nil, errNotRecord
	}
	return o, nil
}

func (o object) text(key string) (string, bool) {
	var s string
	raw := o[key]
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

func (o object) number(key string) (float64, bool) {
	var n float64
	raw := o[key]
	if len(raw) == 0 || raw[0] == 'n' || json.Unmarshal(raw, &n) != nil {
		return 0, false
	}
	return n, true
}

func whole(n float64) int {
	if n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
		return 0
	}
	return int(n)
}

// parseTime reads the ways of writing a time that are met in these files. As in JavaScript a
// time of day without a zone is local, and a day alone is UTC. What cannot be read is zero.
func parseTime(s string) time.Time {
	s = strings.TrimSpace(s)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05Z0700", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime, "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t
		}
	}
	return time.Time{}
}

// sign is the last sign of life of a record. A heartbeat that is no time, or that is further
// ahead of now than it may lie back, tells nothing; then the file's own time of change stands
// for it, which every writer of these files moves with the heartbeat.
func (r record) sign(changed, now time.Time, limit time.Duration) time.Time {
	if r.heartbeat.IsZero() || r.heartbeat.Sub(now) > limit {
		return changed
	}
	return r.heartbeat
}

// within reports whether a sign of life at t is fresh: at most limit old. Clocks of two machines
// differ, and a clock may have been set back, so a time ahead of now by at most limit is fresh
// too.
func within(t, now time.Time, limit time.Duration) bool {
	age := now.Sub(t)
	return !t.IsZero() && age <= limit && age >= -limit
}

// alive reports whether the holder of a lock that was last changed then counts as alive.
func (r record) alive(changed, now time.Time) bool {
	t := r.sign(changed, now, r.ttl)
	return within(t, now, r.ttl) && now.Sub(t) != r.ttl
}

// pathHash names a folder in the registry without telling where it is.
func pathHash(dir string) string {
	sum := sha256.Sum256([]byte(filepath.Clean(dir)))
	return hex.EncodeToString(sum[:])
}

// heartbeatAt finds where in a record the text of the last heartbeat stands, when it is there
// in the one length that stamp makes.
func heartbeatAt(data []byte) (offset int64, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(data))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return 0, false
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return 0, false
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return 0, false
		}
		if key != "last_heartbeat" {
			continue
		}
		// The last of two equal keys counts, for us and for them.
		offset, ok = dec.InputOffset()-int64(len(value))+1, len(value) == len(stampLayout)+2 && value[0] == '"'
	}
	return offset, ok
}
