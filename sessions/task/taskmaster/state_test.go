package taskmaster

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func TestSwitchTag(t *testing.T) {
	t.Parallel()
	now := time.Date(2025, 10, 7, 16, 30, 0, 123_456_789, time.FixedZone("", 2*3600))
	const at = "2025-10-07T14:30:00.123Z"
	const none = "(none)"
	tests := []struct{ name, before, tag, from, want string }{
		{"usual", "{\n  \"currentTag\": \"master\",\n  \"lastSwitched\": \"x\",\n  \"branchTagMapping\": {\"a\": \"currentTag\"}\n}", "next", "master", "{\n  \"currentTag\": \"next\",\n  \"lastSwitched\": \"" + at + "\",\n  \"branchTagMapping\": {\"a\": \"currentTag\"}\n}"},
		{"back to master", "\ufeff{\"lastSwitched\" :1,\r\n\"currentTag\" :\"a\\u0062\"}\r\n", "master", "ab", "\ufeff{\"lastSwitched\" :\"" + at + "\",\r\n\"currentTag\" :\"master\"}\r\n"},
		{"no time", "{\n\t\"currentTag\": \"a\"\n}\n", "<ü\">", "a", "{\n\t\"currentTag\": \"<ü\\\">\",\n\t\"lastSwitched\": \"" + at + "\"\n}\n"},
		{"no tag", `{"migrationNoticeShown": true}`, "a", "master", `{"currentTag": "a", "lastSwitched": "` + at + `","migrationNoticeShown": true}`},
		{"empty object", `{}`, "a", "master", `{"currentTag":"a","lastSwitched":"` + at + `"}`},
		{"an empty tag is master", `{"currentTag":""}`, "a", "master", `{"currentTag":"a","lastSwitched":"` + at + `"}`},
		{"no tag is master", `{"currentTag":null}`, "master", "master", `{"currentTag":null}`},
		{"the same", `{"currentTag":"a", "lastSwitched":1}`, "a", "a", `{"currentTag":"a", "lastSwitched":1}`},
		{"no file", none, "master", "master", none},
		{"a new file", none, "a", "master", "{\n  \"currentTag\": \"a\",\n  \"lastSwitched\": \"" + at + "\",\n  \"branchTagMapping\": {},\n  \"migrationNoticeShown\": false\n}\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, ".taskmaster/config.json", "{}")
			if tt.before != none {
				r.write(stateFile, tt.before)
			}
			if got, err := CurrentTag(r.dir); err != nil || got != tt.from {
				t.Errorf("current tag = %q, %v, want %q", got, err, tt.from)
			}
			from, changed, err := SwitchTag(r.dir, tt.tag, now)
			if err != nil || from != tt.from || changed != (tt.before != tt.want) {
				t.Errorf("got %q, %v, %v", from, changed, err)
			}
			got := none
			if data, err := os.ReadFile(r.path(stateFile)); err == nil {
				got = string(data)
			}
			if got != tt.want {
				t.Errorf("file:\n%s\nwant:\n%s", got, tt.want)
			}
			if tag, err := CurrentTag(r.dir); err != nil || tag != tt.tag {
				t.Errorf("current tag afterwards = %q, %v, want %q", tag, err, tt.tag)
			}
			if info, err := os.Stat(r.path(stateFile)); err == nil && info.Mode() != 0o644 {
				t.Errorf("mode = %v, want 0644", info.Mode())
			}
			if got != none && !json.Valid([]byte(strings.TrimPrefix(got, "\ufeff"))) {
				t.Errorf("not JSON: %s", got)
			}
		})
	}
}

func TestSwitchTagRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, before, tag, want string }{
		{"empty name", `{}`, "", `switch the tag: "" is not the name of a tag`},
		{"no UTF-8", `{}`, "\xff", "is not the name of a tag"},
		{"array", `[]`, "a", "switch the tag: .taskmaster/state.json is an array instead of an object"},
		{"null", `null`, "a", "switch the tag: .taskmaster/state.json is null"},
		{"empty", ``, "a", "switch the tag: .taskmaster/state.json is empty"},
		{"broken", "{\n\"a\":}", "a", "switch the tag: .taskmaster/state.json is not JSON: line 2: "},
		{"number", `{"currentTag":1}`, "a", `has something else than text for "currentTag"`},
		{"twice", "{\"currentTag\":\"a\",\n\"currentTag\":\"b\"}", "a", `has "currentTag" twice in one object, in line 1 and in line 2`},
		{"time", `{"lastSwitched":[]}`, "a", `has something else than text for "lastSwitched" in line 1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t, stateFile, tt.before)
			if _, changed, err := SwitchTag(r.dir, tt.tag, time.Time{}); err == nil || changed || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, changed %v, want %q", err, changed, tt.want)
			}
			if got := r.read(stateFile); got != tt.before {
				t.Errorf("file = %q", got)
			}
		})
	}
}

func TestSwitchTagNeedsTheFolder(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "sub/x", "", "out/x", "")
	r.dir = r.path("sub")
	want := "switch the tag: there is no folder .taskmaster for .taskmaster/state.json"
	if _, _, err := SwitchTag(r.dir, "a", time.Time{}); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := os.Symlink("../out", r.path(".taskmaster")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := SwitchTag(r.dir, "a", time.Time{}); err == nil {
		t.Error("a folder outside was written to")
	}
	if _, err := os.Stat(r.path("../out/state.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("state outside: %v", err)
	}
}
