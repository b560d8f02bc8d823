package increment

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"autopilot/sessions/task"
)

// repository makes a repository of files, each with its path below the increments.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	repo := t.TempDir()
	for name, content := range files {
		path := filepath.Join(repo, home, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return repo
}

const (
	fullMetadata = `{
  "id": "0007-login",
  "status": "planned",
  "type": "Feature",
  "priority": "P3",
  "created": "2026-03-01T10:00:00.000Z",
  "lastActivity": "2026-03-02T11:30:00+01:00",
  "testMode": "TDD",
  "coverageTarget": 85.5,
  "externalLinks": {"github": {"issue": 12}}
}
`
	fullSpec = "\xef\xbb\xbf---\r\n" + `increment: 0007-login
title: "Log  in"
type: bug
priority: P1
dependencies: [0001, 0002-old, 0009-other, gone, 0007, 0001]
test_mode: none
coverage_target: 70
---

# A heading

- [x] **AC-US1-01**: first
- [ ] **AC-US1-02**: second
* [X] AC-US2-01: third
- [ ] not a criterion
` + "```\n- [ ] **AC-US9-01**: in code\n```\n" + `- [ ] AC-US2-02 last
`
	fullTasks = `### T-001: Write it
**User Story**: US-001 | **Status**: [x] completed
### T-002: Check it
**Status**: [ ] pending | **Dependencies**: T-001
- [ ] [T003] [P] haiku - Tell it
`
)

func full() map[string]string {
	return map[string]string{
		"0007-login/metadata.json": fullMetadata, "0007-login/spec.md": fullSpec, "0007-login/tasks.md": fullTasks,
		"0001-first/metadata.json": `{"status":"active"}`, "0001-first/spec.md": "# First\n",
		"_archive/0002-old/metadata.json": `{"status":"completed"}`,
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	repo := repository(t, full())
	want := Increment{
		ID: "0007-login", Dir: filepath.Join(repo, home, "0007-login"), Title: "Log in", Type: "feature", Status: Planning, Priority: 1,
		Created: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC), LastActivity: time.Date(2026, 3, 2, 10, 30, 0, 0, time.UTC),
		DependsOn: []string{"0001-first", "0002-old", "0009-other", "gone", "0007-login"}, TestMode: "TDD", CoverageTarget: 85,
		Tasks: []task.Task{
			{ID: "T-001", Subject: "Write it", Status: "completed"},
			{ID: "T-002", Subject: "Check it", Status: "pending", BlockedBy: []string{"T-001"}},
			{ID: "T003", Subject: "Tell it", Status: "pending"},
		},
		Criteria: Criteria{Open: 2, Done: 2},
	}
	for _, id := range []string{"0007-login", "0007", "0007-l"} {
		got, err := Load(repo, id)
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Errorf("Load(%s) (-want +got), error %v:\n%s", id, err, diff)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	files := full()
	files["0003-none/spec.md"] = "# No metadata\n"
	files["0004-broken/metadata.json"] = "{\n\"status\": }"
	files["0005-odd/metadata.json"] = `{"id":"0006-x","status":"Going","status":"going","priority":2,"created":"2026-03-01","lastActivity":"soon"}`
	files["0005-odd/spec.md"] = "---\n- a list\n---\n"
	files["0008-note.md"] = "a file, no folder"
	files["notes/metadata.json"] = `{"status":"active"}`
	files["README.md"] = ""
	repo := repository(t, files)
	list, faults := List(repo)
	dir := func(id string) string { return filepath.Join(repo, home, id) }
	want := []Increment{
		{ID: "0001-first", Dir: dir("0001-first"), Title: "First", Status: Active},
		{
			ID: "0005-odd", Dir: dir("0005-odd"), Title: "0005-odd", Status: "going", Priority: 2, Created: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
			Warnings: []string{
				`metadata.json has "status" twice in one object: the last one counts, and the status cannot be changed`,
				`metadata.json: "going" is a status that SpecWeave does not know`,
				`metadata.json is that of "0006-x"`,
				`metadata.json: lastActivity "soon" is no point in time`,
			},
		},
		{
			ID: "0007-login", Dir: dir("0007-login"), Title: "Log in", Type: "feature", Status: Planning, Priority: 1,
			Created: time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC), LastActivity: time.Date(2026, 3, 2, 10, 30, 0, 0, time.UTC),
			DependsOn: []string{"0001-first", "0002-old", "0009-other", "gone", "0007-login"}, TestMode: "TDD", CoverageTarget: 85,
		},
	}
	if diff := cmp.Diff(want, list, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("increments (-want +got):\n%s", diff)
	}
	wantFaults := []Fault{
		{Path: filepath.Join(dir("0003-none"), "metadata.json"), Why: "is not there"},
		{Path: filepath.Join(dir("0004-broken"), "metadata.json"), Why: "is not JSON: line 2: invalid character '}' looking for beginning of value"},
		{Path: filepath.Join(dir("0005-odd"), "spec.md"), Why: "has fields that are no YAML mapping"},
	}
	if diff := cmp.Diff(wantFaults, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

func TestNoIncrements(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	if list, faults := List(repo); len(list)+len(faults) > 0 {
		t.Errorf("got %v, %v", list, faults)
	}
	if got := Archived(repo); len(got) > 0 {
		t.Errorf("archived: %v", got)
	}
	if _, err := Load(repo, "0001"); !errors.Is(err, ErrNotFound) {
		t.Errorf("Load = %v", err)
	}
	if err := SetStatus(repo, "0001", Active, time.Now()); !errors.Is(err, ErrNotFound) {
		t.Errorf("SetStatus = %v", err)
	}
	list, faults := List(filepath.Join(repo, "gone"))
	if len(list) > 0 || len(faults) != 1 || len(Archived(filepath.Join(repo, "gone"))) > 0 {
		t.Errorf("no repository: %v, %v", list, faults)
	}
}

func TestArchived(t *testing.T) {
	t.Parallel()
	repo := repository(t, map[string]string{
		"_archive/0001-a/metadata.json":   `{"status":"completed"}`,
		"_archive/0002-b/metadata.json":   `{"status":"active"}`,
		"_archive/0003-c/metadata.json":   `{`,
		"_archive/0004-d/spec.md":         ``,
		"_abandoned/0005-e/metadata.json": `{"status":"abandoned"}`,
		"_archive/notes/metadata.json":    `{"status":"completed"}`,
		"0006-f/metadata.json":            `{"status":"completed"}`,
	})
	want := map[string]string{"0001-a": Completed, "0005-e": Abandoned}
	if diff := cmp.Diff(want, Archived(repo)); diff != "" {
		t.Errorf("archived (-want +got):\n%s", diff)
	}
	if _, err := Load(repo, "0001-a"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an archived increment can be loaded: %v", err)
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	ids := []string{"0001", "0007-login", "00071-more", "0008-a", "0008-b", "0009-ab", "0009-abc"}
	for beginning, want := range map[string]string{"0007": "0007-login", "00071": "00071-more", "0007-login": "0007-login", "0001": "0001", "0008-b": "0008-b", "0009-ab": "0009-ab", "0009-abc": "0009-abc"} {
		if got, err := resolve(ids, beginning); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", beginning, got, err, want)
		}
	}
	for beginning, want := range map[string]string{
		"0008":       `"0008" may be any of 0008-a, 0008-b: write more of it`,
		"000":        `"000" may be any of 0001, 0007-login, 00071-more, 0008-a, 0008-b, 0009-ab, 0009-abc: write more of it`,
		"":           `there is no such increment: ""; there are 0001, 0007-login,`,
		"1":          "there is no such increment",
		"../../0001": "there is no such increment",
	} {
		if got, err := resolve(ids, beginning); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %s, %v, want %s", beginning, got, err, want)
		}
	}
}

// What is wrong with the files is told, and never taken for something else.
func TestLoadWarns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file, content string // "-" takes the file away
		want                string
	}{
		{"no spec", "spec.md", "-", "spec.md is not there"},
		{"no tasks", "tasks.md", "-", "tasks.md is not there"},
		{"no tasks that are known", "tasks.md", "#### Foundation\n- [ ] write it\n", "tasks.md has no tasks that can be recognised"},
		{"empty tasks", "tasks.md", "", "tasks.md has no tasks that can be recognised"},
		{"open fence", "tasks.md", "```\n### T-001: x\n", "tasks.md"},
		{"no end of the fields", "spec.md", "---\ntitle: x\n", "spec.md begins with fields that have no end"},
		{"long fields", "spec.md", "---\n" + strings.Repeat("a: b\n", 20000) + "---\n", "spec.md begins with fields that have no end within 64 KiB"},
		{"no YAML", "spec.md", "---\na: [\n---\n", "spec.md has fields that are no YAML"},
		{"not UTF-8", "spec.md", "# \xff", "spec.md is not UTF-8"},
		{"a field twice", "spec.md", "---\ntitle: a\ntitle: b\n---\n", `spec.md has the field "title" twice`},
		{"dependencies", "spec.md", "---\ndependencies: {a: b}\n---\n", "the dependencies are no list"},
		{"dependency in words", "spec.md", "---\ndependencies: [the other team]\n---\n", `"the other team" is no dependency`},
		{"dependency within a list", "spec.md", "---\ndependencies: [[a]]\n---\n", "line 1 of the fields is no dependency"},
		{"large file", "spec.md", strings.Repeat("x", largest+1), "spec.md is larger than 16 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			repo := repository(t, full())
			path := filepath.Join(repo, home, "0007-login", tt.file)
			err := os.Remove(path)
			if tt.content != "-" {
				err = os.WriteFile(path, []byte(tt.content), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := Load(repo, "0007")
			if err != nil || len(got.Warnings) == 0 || !strings.Contains(strings.Join(got.Warnings, "\n"), tt.want) {
				t.Errorf("got %q, %v, want %q", got.Warnings, err, tt.want)
			}
			if got.Status != Planning || got.Type != "feature" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"":                         "is empty",
		"[]":                       "is not a JSON object",
		"null":                     "is not a JSON object",
		`{"status":1}`:             "has no status",
		`{"Status":"active"}`:      "has no status",
		`{"status":" "}`:           "has no status",
		`{"status":"active"} {}`:   "is not JSON: line 1",
		"{\"status\":\"act\xffs\"": "is not UTF-8",
	} {
		repo := repository(t, map[string]string{"0001-a/metadata.json": content})
		path := filepath.Join(repo, home, "0001-a", "metadata.json")
		if _, err := Load(repo, "0001"); err == nil || !strings.Contains(err.Error(), path+" "+want) {
			t.Errorf("%q: got %v, want %s", content, err, want)
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	type fields struct {
		Title, Type, Mode  string
		Priority, Coverage int
		Depends            []string
	}
	tests := []struct {
		name, metadata, spec string
		want                 fields
	}{
		{"of metadata.json", `{"status":"active","title":"T","type":"hotfix","priority":2,"testMode":"TDD","coverageTarget":90}`, "", fields{"T", "hotfix", "TDD", 2, 90, nil}},
		{"of spec.md", `{"status":"active"}`, "---\ntitle: T\ntype: Bug\npriority: p2\ntest_mode: manual\ncoverage_target: 80%\n---\n# H\n", fields{"T", "bug", "manual", 2, 80, nil}},
		{"of the heading", `{"status":"active","title":"x"}`, "---\ntitle:\n---\n## no\n#no\n#  The \x1b[1mtitle\x1b[0m  \n# no\n", fields{Title: "The title"}},
		{"of none", `{"status":"active"}`, "", fields{Title: "0001-a"}},
		{"P0", `{"status":"active"}`, "---\npriority: P0\n---\n", fields{Title: "0001-a", Priority: 1}},
		{"P5", `{"status":"active"}`, "---\npriority: P5\n---\n", fields{Title: "0001-a", Priority: 3}},
		{"no priority", `{"status":"active","priority":"high","coverageTarget":"all"}`, "---\npriority: null\ncoverage_target: 180\n---\n", fields{Title: "0001-a"}},
		{"values of other kinds", `{"status":"active","title":{},"type":[],"priority":true,"testMode":null,"coverageTarget":{}}`, "---\ntitle: [a]\ntype: {}\npriority: [1]\n---\n", fields{Title: "0001-a"}},
		{"numbers as they are written", `{"status":"active"}`, "---\ndependencies: [0010, 7]\n---\n", fields{Title: "0001-a", Depends: []string{"0010", "7"}}},
		{"list", `{"status":"active"}`, "---\ndependencies:\n  - 0002-b\n  - id: 0003-c\n  - increment: 0004-d\n    why: x\n  -\n  - \"0002-b\"\n---\n", fields{Title: "0001-a", Depends: []string{"0002-b", "0003-c", "0004-d"}}},
		{"text", `{"status":"active"}`, "---\ndependencies: 0002-b, 0003-c,\n---\n", fields{Title: "0001-a", Depends: []string{"0002-b", "0003-c"}}},
		{"alias", `{"status":"active"}`, "---\nx: &x [0002-b]\ny: &y 0003-c\ntitle: *y\ndependencies: *x\n---\n", fields{Title: "0003-c", Depends: []string{"0002-b"}}},
		{"no dependencies", `{"status":"active"}`, "---\ndependencies: null\n---\n", fields{Title: "0001-a"}},
		{"fields without content", `{"status":"active"}`, "---\n# nothing\n---\n", fields{Title: "0001-a"}},
	}
	for _, tt := range tests {
		repo := repository(t, map[string]string{"0001-a/metadata.json": tt.metadata, "0001-a/spec.md": tt.spec})
		list, faults := List(repo)
		if len(list) != 1 || len(faults) > 0 {
			t.Errorf("%s: %v, %v", tt.name, list, faults)
			continue
		}
		i := list[0]
		got := fields{i.Title, i.Type, i.TestMode, i.Priority, i.CoverageTarget, i.DependsOn}
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestCriteria(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text       string
		open, done int
	}{
		{"", 0, 0},
		{"- [ ] **AC-US1-01**: x\n- [x] **AC-US1-02**: y", 1, 1},
		{"  * [ ] AC-1\r\n\t+ [X] __AC-2__\n", 1, 1},
		{"- [ ]AC-1\n-[ ] AC-2\n", 2, 0},
		{"- [] AC-1\n- [-] AC-2\n- [ ] BC-3\n[ ] AC-4\n-\n- [x", 0, 0},
		{"````\n- [ ] AC-1\n```\n- [ ] AC-2\n````\n- [ ] AC-3\n", 1, 0},
		{"~~~ md\n- [ ] AC-1\n```\n~~~\n- [x] AC-3\n", 0, 1},
		{"```\n- [ ] AC-1\n", 0, 0},
	}
	for _, tt := range tests {
		if got := criteria([]byte(tt.text)); got != (Criteria{Open: tt.open, Done: tt.done}) {
			t.Errorf("%q: got %+v", tt.text, got)
		}
	}
}

// Nothing outside of the repository is read, and nothing makes us wait.
func TestLinksAndPipes(t *testing.T) {
	t.Parallel()
	outside := repository(t, full())
	link := func(t *testing.T, to, from string) {
		t.Helper()
		if err := os.Symlink(to, from); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		name string
		make func(t *testing.T, dir string)
		want string // fault; "" for an increment that is read
	}{
		{"file outside", func(t *testing.T, dir string) {
			link(t, filepath.Join(outside, home, "0007-login", metadata), filepath.Join(dir, "0001-a", metadata))
		}, "is a symbolic link that is not followed"},
		{"folder outside", func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "0001-a")); err != nil {
				t.Fatal(err)
			}
			link(t, filepath.Join(outside, home, "0007-login"), filepath.Join(dir, "0001-a"))
		}, "cannot be read"},
		{"link to nothing", func(t *testing.T, dir string) { link(t, "nothing", filepath.Join(dir, "0001-a", metadata)) }, "is a symbolic link to nothing"},
		{"pipe", func(t *testing.T, dir string) {
			if err := syscall.Mkfifo(filepath.Join(dir, "0001-a", metadata), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "is no regular file"},
		{"folder", func(t *testing.T, dir string) {
			if err := os.Mkdir(filepath.Join(dir, "0001-a", metadata), 0o700); err != nil {
				t.Fatal(err)
			}
		}, "is no regular file"},
		{"link within", func(t *testing.T, dir string) {
			link(t, "../../elsewhere.json", filepath.Join(dir, "0001-a", metadata))
			if err := os.WriteFile(filepath.Join(dir, "..", "elsewhere.json"), []byte(`{"status":"active"}`), 0o600); err != nil {
				t.Fatal(err)
			}
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			repo := repository(t, map[string]string{"0001-a/x": ""})
			if err := os.Remove(filepath.Join(repo, home, "0001-a", "x")); err != nil {
				t.Fatal(err)
			}
			tt.make(t, filepath.Join(repo, home))
			list, faults := List(repo)
			if tt.want == "" {
				if len(list) != 1 || list[0].Status != Active {
					t.Errorf("got %v, %v", list, faults)
				}
				return
			}
			if len(list) != 0 || len(faults) != 1 || !strings.Contains(faults[0].Why, tt.want) {
				t.Errorf("got %v, %v, want %s", list, faults, tt.want)
			}
			if err := SetStatus(repo, "0001-a", Completed, time.Now()); err == nil {
				t.Error("SetStatus had nothing to say")
			}
		})
	}
	if data, err := os.ReadFile(filepath.Join(outside, home, "0007-login", metadata)); err != nil || string(data) != fullMetadata {
		t.Errorf("the file outside became %s, %v", data, err)
	}
}

func TestIncrementsFolderOutside(t *testing.T) {
	t.Parallel()
	repo := t.TempDir()
	if err := os.Symlink(filepath.Join(repository(t, full()), ".specweave"), filepath.Join(repo, ".specweave")); err != nil {
		t.Fatal(err)
	}
	list, faults := List(repo)
	if len(list) != 0 || len(faults) != 1 {
		t.Errorf("got %v, %v", list, faults)
	}
	if _, err := Load(repo, "0007"); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("Load = %v", err)
	}
}

func FuzzFiles(f *testing.F) {
	f.Add([]byte(fullMetadata), []byte(fullSpec), []byte(fullTasks))
	f.Add([]byte(`{"a":{"b":1,"b":2},"status":"active"}`), []byte("---\na: &a [*a]\ndependencies: *a\n---\n"), []byte("```"))
	f.Add([]byte("\xef\xbb\xbf{\"status\":\"\\ud800\"}"), []byte("---\nx: &x {<<: *x}\n---\n"), []byte(""))
	f.Fuzz(func(t *testing.T, meta, text, list []byte) {
		var inc Increment
		errMeta := inc.metadata(meta)
		errSpec := inc.spec(text)
		c := criteria(text)
		inc.tasks(list)
		if errMeta == nil && (inc.Status == "" || inc.Status == "planned") {
			t.Errorf("status %q of %q", inc.Status, meta)
		}
		if inc.Priority < 0 || inc.Priority > 3 || inc.CoverageTarget < 0 || inc.CoverageTarget > 100 || len(inc.DependsOn) > mostDepends || len(inc.Warnings) > mostWarnings {
			t.Errorf("out of range: %+v", inc)
		}
		for _, s := range append([]string{inc.Title, inc.Type, inc.Status, inc.TestMode}, append(inc.Warnings, inc.DependsOn...)...) {
			if line(s, longestWhy) != s {
				t.Errorf("%q can not be shown as it is", s)
			}
		}
		if c.Open+c.Done > len(text)/5+1 {
			t.Errorf("%d criteria in %d bytes", c.Open+c.Done, len(text))
		}
		_, _ = errSpec, c
		for _, to := range Statuses() {
			if out, err := edited(meta, to, time.Unix(0, 0)); err == nil && errMeta != nil {
				t.Errorf("%q cannot be read (%v) but changed to %q", meta, errMeta, out)
			}
		}
	})
}
