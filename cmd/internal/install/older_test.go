package install

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// olderSettings is what a version that knew only the Stop hook made of nothing.
const olderSettings = `{
  "hooks": {
    "Stop": [
      {
        "matcher": "",
        "hooks": [
          {
            "type": "command",
            "command": "autopilot hook stop",
            "timeout": 10
          }
        ]
      }
    ]
  },
  "claudeFlow": {
    "autopilot": {
      "maxIterations": 50,
      "timeoutMinutes": 240,
      "taskSources": [
        "team-tasks",
        "swarm-tasks",
        "file-checklist"
      ],
      "completionCriteria": "all-tasks-done"
    }
  }
}
`

// older leaves a file and a record as an older version did, in its own words.
func older(p *place, name string, before state, text string) {
	p.t.Helper()
	after := state{exists: true, data: []byte(text)}
	original, folders := "null", `, "folders": [".claude"]`
	if before.exists {
		original, folders = `"`+base64.StdEncoding.EncodeToString(before.data)+`"`, ""
	}
	record := fmt.Sprintf(`{"version": 1, "command": "autopilot", "files": [{"path": %q, "before": %q, "after": %q, "existed": %v, "original": %s}]%s}`,
		name, before.sum(), after.sum(), before.exists, original, folders)
	p.write(name, text)
	if err := os.MkdirAll(filepath.Dir(p.Record), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.Record, []byte(record), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// A repository that an older version has set up gets what is new, and the way back
// leads to what was there before that version.
func TestInitAfterAnOlderVersion(t *testing.T) {
	t.Parallel()
	const (
		before = "{\n\t\"hooks\": { /* none */ }, // c\n\t\"a\": 1,\n}"
		limits = "\t\"claudeFlow\": {\n\t\t\"autopilot\": {\"maxIterations\": 7}\n\t},\n}"
		stop   = "\n\t\t\"Stop\": [\n\t\t\t{\"matcher\": \"\", \"hooks\": [" + ourHook + "]}\n\t\t]\n\t"
		middle = "{\n\t\"hooks\": { /* none */" + stop + "}, // c\n\t\"a\": 1,\n" + limits
	)
	absent, present := state{}, state{exists: true, data: []byte(before)}
	none := func(*place) {}
	edit := func(p *place) { p.replace(settingsFile, `"a": 1`, `"a": 2`) }
	tests := []struct {
		name   string
		before state
		older  string
		edit   func(*place) // between the two versions
		again  func(*place) // after the second init
		want   state
	}{
		{"a file of its own", absent, olderSettings, none, none, absent},
		{"a file of a person", present, middle, none, none, present},
		{"edited in between", present, middle, edit, none, state{exists: true, data: []byte(strings.Replace(before, "1", "2", 1))}},
		{"edited afterwards", present, middle, none, edit, state{exists: true, data: []byte(strings.Replace(before, "1", "2", 1))}},
		{"edited both times", present, middle, edit, func(p *place) { p.replace(settingsFile, `"a": 2`, `"a": 1`) }, present},
	}
	for _, tt := range tests {
		for _, twice := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, second init %v", tt.name, twice), func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				p.NoMCP, p.NoInstructions, p.NoConfig = true, true, true
				older(p, settingsFile, tt.before, tt.older)
				tt.edit(p)
				if twice {
					c := p.init()
					if what := missing([]byte(p.read(settingsFile))); what != "" {
						t.Errorf("after the second init: %s\n%s", what, p.read(settingsFile))
					}
					if diff := cmp.Diff([]string{settingsFile}, c.Files()); diff != "" {
						t.Errorf("second init (-want +got):\n%s", diff)
					}
					if removed := strings.Count(c.Diff(), "\n-"); removed != 0 {
						t.Errorf("second init takes %d lines out:\n%s", removed, c.Diff())
					}
					if c := p.plan(); !c.Empty() {
						t.Errorf("third init changes %v", c.Files())
					}
				}
				tt.again(p)
				c := p.uninstall()
				want := tree{}
				if tt.want.exists {
					want = tree{".claude": "drwxr-xr-x", settingsFile: "-rw-r--r-- " + string(tt.want.data)}
				}
				p.same("after uninstall", want)
				if len(c.Notes) > 0 {
					t.Errorf("notes of uninstall: %q", c.Notes)
				}
				if _, err := os.Stat(p.Record); !os.IsNotExist(err) {
					t.Errorf("record is still there: %v", err)
				}
			})
		}
	}
}

// Where the older version had nothing to put in, its hook was the person's.
func TestInitAfterAnOlderVersionThatHadNothingToDo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.NoMCP, p.NoInstructions, p.NoConfig = true, true, true
	p.write(settingsFile, olderSettings)
	before := readTree(t, p.Repo)
	p.init()
	if diff := cmp.Diff(wholeSettings, p.read(settingsFile)); diff != "" {
		t.Errorf("after init (-want +got):\n%s", diff)
	}
	p.uninstall()
	p.same("after uninstall", before)
}
