package increment

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func someday() time.Time {
	return time.Date(2026, 3, 5, 14, 30, 0, 7_000_000, time.FixedZone("x", 3600))
}

const stamp = `"2026-03-05T13:30:00.007Z"`

func TestEdited(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, data, to, want string }{
		{"as SpecWeave writes it", "{\n  \"id\": \"x\",\n  \"status\": \"active\",\n  \"lastActivity\": \"2026-01-01T00:00:00.000Z\"\n}\n", "paused", "{\n  \"id\": \"x\",\n  \"status\": \"paused\",\n  \"lastActivity\": " + stamp + "\n}\n"},
		{"tight, no new line", `{"lastActivity":"x","status":"active","updated":"y","n":1.50e+3}`, "ready_for_review", `{"lastActivity":` + stamp + `,"status":"ready_for_review","updated":` + stamp + `,"n":1.50e+3}`},
		{"CRLF, tabs, mark", "\xef\xbb\xbf{\r\n\t\"status\" :\t\"active\"\r\n}\r\n ", "backlog", "\xef\xbb\xbf{\r\n\t\"status\" :\t\"backlog\"\r\n}\r\n "},
		{"escapes", `{"\u0073tatus":"\u0061ctive","x":"\u00e4\/"}`, "paused", `{"\u0073tatus":"paused","x":"\u00e4\/"}`},
		{"below", `{"a":{"status":"active","updated":"x"},"b":[{"status":1},{"status":1}],"status":"active"}`, "paused", `{"a":{"status":"active","updated":"x"},"b":[{"status":1},{"status":1}],"status":"paused"}`},
		{"other names", `{"Status":"active","STATUS":"x","status":"active","LastActivity":"x"}`, "paused", `{"Status":"active","STATUS":"x","status":"paused","LastActivity":"x"}`},
		{"a day stays a day", `{"status":"active","updated":"2026-01-01"}`, "paused", `{"status":"paused","updated":"2026-03-05"}`},
		{"null", `{"status":"active","lastActivity":null}`, "paused", `{"status":"paused","lastActivity":` + stamp + `}`},
		{"a time in a way of its own", `{"status":"active","lastActivity":1700000000000,"updated":{"at":"x"}}`, "paused", `{"status":"paused","lastActivity":1700000000000,"updated":{"at":"x"}}`},
		{"planned", `{"status":"planned"}`, "active", `{"status":"active"}`},
		{"to planned", `{"status":"backlog"}`, "planned", `{"status":"planning"}`},
		{"planned to planning", `{"status":"planned","lastActivity":"x"}`, "planning", `{"status":"planned","lastActivity":"x"}`},
		{"the same", `{"status":"active","lastActivity":"x"}`, "active", `{"status":"active","lastActivity":"x"}`},
	}
	for _, tt := range tests {
		before := []byte(tt.data)
		got, err := edited(before, known(tt.to), someday())
		if diff := cmp.Diff(tt.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s (-want +got), error %v:\n%s", tt.name, err, diff)
		}
		if string(before) != tt.data {
			t.Errorf("%s: the data became %q", tt.name, before)
		}
	}
}

func TestSetStatusRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, data, to string
		kind           error
		want           string
	}{
		{"illegal", `{"status":"active"}`, "completed", ErrIllegal, "from active to completed; from active there is ready_for_review, paused, backlog, abandoned"},
		{"no status at all", `{"status":"active"}`, "done", ErrIllegal, `"done" is not a status`},
		{"from a strange one", `{"status":"going"}`, "active", ErrIllegal, `"going" is not a status`},
		{"strange to the same", `{"status":"going"}`, "going", ErrIllegal, `"going" is not a status`},
		{"status twice", `{"status":"active","status":"paused"}`, "backlog", nil, `has "status" twice`},
		{"name twice, written differently", `{"a":1,"\u0061":2,"status":"active"}`, "backlog", nil, `has "a" twice`},
		{"name twice below", `{"status":"active","x":[[{"b":{"c":1,"d":[{}],"c":2}}]]}`, "backlog", nil, `has "c" twice`},
		{"no JSON", "{\"status\":\"active\",\n}", "backlog", nil, "is not JSON: line 2"},
		{"comment", "{\"status\":\"active\" // x\n}", "backlog", nil, "is not JSON: line 1"},
		{"more", `{"status":"active"}{}`, "backlog", nil, "is not JSON"},
		{"list", `["status"]`, "backlog", nil, "is not a JSON object"},
		{"empty", " ", "backlog", nil, "is empty"},
		{"not UTF-8", "{\"status\":\"active\",\"x\":\"\xff\"}", "backlog", nil, "is not UTF-8"},
		{"no status", `{"x":{"status":"active"}}`, "backlog", nil, "has no status"},
		{"status is no text", `{"status":null}`, "backlog", nil, "has a status that is no text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			repo := repository(t, map[string]string{"0001-a/metadata.json": tt.data})
			path := filepath.Join(repo, home, "0001-a", metadata)
			err := SetStatus(repo, "0001", tt.to, someday())
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) || tt.kind != nil && !errors.Is(err, tt.kind) {
				t.Errorf("got %v, want %q of %v", err, tt.want, tt.kind)
			}
			unchanged(t, path, tt.data)
		})
	}
}

// unchanged fails the test unless a file has that content and stands alone.
func unchanged(t *testing.T, path, want string) {
	t.Helper()
	if data, err := os.ReadFile(path); err != nil || string(data) != want {
		t.Errorf("%s is %q, %v, want %q", path, data, err, want)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside it: %v, %v", entries, err)
	}
}

func TestSetStatus(t *testing.T) {
	t.Parallel()
	repo := repository(t, full())
	path := filepath.Join(repo, home, "0007-login", metadata)
	if err := os.Chmod(path, 0o664); err != nil {
		t.Fatal(err)
	}
	for _, step := range PathTo(Planning, Completed) {
		if err := SetStatus(repo, "0007", step, someday()); err != nil {
			t.Fatal(err)
		}
		got, err := Load(repo, "0007")
		if err != nil || got.Status != step || !got.LastActivity.Equal(someday()) {
			t.Errorf("got %s, %v, %v, want %s", got.Status, got.LastActivity, err, step)
		}
	}
	want := strings.NewReplacer(`"planned"`, `"completed"`, `"2026-03-02T11:30:00+01:00"`, stamp).Replace(fullMetadata)
	data, err := os.ReadFile(path)
	if diff := cmp.Diff(want, string(data)); diff != "" || err != nil {
		t.Errorf("file (-want +got), error %v:\n%s", err, diff)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o664 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestNoChangeWritesNothing(t *testing.T) {
	t.Parallel()
	repo := repository(t, full())
	path := filepath.Join(repo, home, "0001-first", metadata)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := SetStatus(repo, "0001", Active, someday()); err != nil {
		t.Error(err)
	}
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was replaced: %v", err)
	}
}

func TestSetStatusThroughLinks(t *testing.T) {
	t.Parallel()
	repo := repository(t, map[string]string{"_kept/real.json": `{"status":"active"}`, "_kept/folder/metadata.json": `{"status":"active"}`, "0001-a/x": ""})
	link := filepath.Join(repo, home, "0001-a", metadata)
	if err := errors.Join(os.Symlink("../_kept/real.json", link), os.Symlink("_kept/folder", filepath.Join(repo, home, "0002-b"))); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "link") // to the repository itself
	if err := os.Symlink(repo, other); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"0001", "0002"} {
		if err := SetStatus(other, id, Paused, someday()); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link became %v, %v", info.Mode(), err)
	}
	for _, name := range []string{"real.json", "folder/metadata.json"} {
		if data, err := os.ReadFile(filepath.Join(repo, home, "_kept", name)); err != nil || string(data) != `{"status":"paused"}` {
			t.Errorf("%s is %s, %v", name, data, err)
		}
	}
}

func TestReadOnlyFileStays(t *testing.T) {
	t.Parallel()
	const content = `{"status":"active"}`
	repo := repository(t, map[string]string{"0001-a/metadata.json": content})
	path := filepath.Join(repo, home, "0001-a", metadata)
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	if err := SetStatus(repo, "0001", Paused, someday()); err == nil || !strings.Contains(err.Error(), "is read-only") {
		t.Errorf("got %v", err)
	}
	unchanged(t, path, content)
}

// What another program writes between our reading and our writing is not lost.
func TestSomebodyElseChangesTheFile(t *testing.T) {
	t.Parallel()
	const other = `{"status":"active","more":1}`
	for name, change := range map[string]func(path string) error{
		"in place": func(path string) error { return os.WriteFile(path, []byte(other), 0o600) },
		"by another file": func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte(other), 0o600), os.Rename(path+".new", path))
		},
	} {
		repo := repository(t, map[string]string{"0001-a/metadata.json": `{"status":"active"}`})
		path := filepath.Join(repo, home, "0001-a", metadata)
		err := setStatus(repo, "0001", Paused, someday(), func() {
			if err := change(path); err != nil {
				t.Error(err)
			}
		})
		if !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v", name, err)
		}
		unchanged(t, path, other)
	}
	repo := repository(t, map[string]string{"0001-a/metadata.json": `{"status":"active"}`})
	path := filepath.Join(repo, home, "0001-a", metadata)
	err := setStatus(repo, "0001", Paused, someday(), func() { _ = os.Remove(path) })
	if !errors.Is(err, ErrChanged) {
		t.Errorf("removed: got %v", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 0 {
		t.Errorf("removed: the folder has %v, %v", entries, err)
	}
}

// jsonText draws a JSON object with the fields that change and others, in some form.
type jsonText struct {
	*rapid.T
	out bytes.Buffer
}

func (d *jsonText) one(of ...string) {
	d.out.WriteString(rapid.SampledFrom(of).Draw(d.T, "one"))
}
func (d *jsonText) blank() { d.one("", "", " ", "\n  ", "\r\n\t", "\n") }

func (d *jsonText) draw() (status string) {
	status = rapid.SampledFrom(Statuses()).Draw(d.T, "status")
	members := []string{"status"}
	for _, name := range []string{"lastActivity", "updated", "id", "priority", "externalLinks", "Status", "über", "n"} {
		if rapid.Bool().Draw(d.T, name) {
			members = append(members, name)
		}
	}
	d.one("", "", "\xef\xbb\xbf")
	d.blank()
	d.out.WriteByte('{')
	for i, name := range rapid.Permutation(members).Draw(d.T, "order") {
		if i > 0 {
			d.out.WriteByte(',')
		}
		d.blank()
		if rapid.IntRange(0, 9).Draw(d.T, "escape") == 0 {
			fmt.Fprintf(&d.out, `"\u%04x%s"`, []rune(name)[0], string([]rune(name)[1:]))
		} else {
			fmt.Fprintf(&d.out, "%q", name)
		}
		d.blank()
		d.out.WriteByte(':')
		d.blank()
		switch name {
		case "status":
			d.one(fmt.Sprintf("%q", status), fmt.Sprintf(`"\u%04x%s"`, status[0], status[1:]))
		case "lastActivity", "updated":
			d.one(`"2026-01-01T00:00:00.000Z"`, `"2026-01-01"`, `""`, "null", "12.50", `"a \"status\": \"x\""`)
		default:
			d.one(`"a \"status\": \"active\" \\"`, `"}]{["`, `"äö\ud83d\ude00\/"`, "1.50", "-0e+5", "12345678901234567890.10", "null", "true", `{"status":"active", "updated" :[ ]}`, `[ {"status":1} ,[ ]]`)
		}
		d.blank()
	}
	d.out.WriteByte('}')
	d.one("", "\n", "\r\n", " ")
	return status
}

func decoded(t *rapid.T, data []byte) map[string]any {
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	dec.UseNumber()
	var v map[string]any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %q", err, data)
	}
	return v
}

// Without the values that may change, the text is the same byte for byte.
func TestNothingElseChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := &jsonText{T: t}
		from := d.draw()
		to := rapid.SampledFrom(Statuses()).Draw(t, "to")
		before := bytes.Clone(d.out.Bytes())
		after, err := edited(before, to, someday())
		if !bytes.Equal(before, d.out.Bytes()) {
			t.Fatalf("the data became %q", before)
		}
		legal := Legal(from, to) == nil
		if (err == nil) != (legal || from == to) {
			t.Fatalf("from %s to %s: %v in %q", from, to, err, before)
		}
		if !legal {
			if err == nil && !bytes.Equal(before, after) {
				t.Fatalf("no change became %q", after)
			}
			return
		}
		was, now := decoded(t, before), decoded(t, after)
		if now["status"] != to {
			t.Fatalf("status %v in %q", now["status"], after)
		}
		frame := func(data []byte, v map[string]any) string {
			members, _, err := object(data)
			if err != nil {
				t.Fatal(err)
			}
			out := bytes.Clone(data)
			for i := len(members) - 1; i >= 0; i-- {
				if m := members[i]; m.name == "status" || m.name == "lastActivity" || m.name == "updated" {
					out = append(out[:m.from:m.from], append([]byte("<value>"), out[m.to:]...)...)
					delete(v, m.name)
				}
			}
			return string(out)
		}
		if a, b := frame(before, was), frame(after, now); a != b || !reflect.DeepEqual(was, now) {
			t.Fatalf("more was changed:\n%q\n%q", before, after)
		}
		again, err := edited(after, to, someday().Add(time.Hour))
		if err != nil || !bytes.Equal(again, after) {
			t.Fatalf("the second time: %v, %q", err, again)
		}
	})
}

const helperEnv = "INCREMENT_TEST_HELPER"

// TestMain lets the test binary play a process that changes a status for ever.
func TestMain(m *testing.M) {
	repo := os.Getenv(helperEnv)
	if repo == "" {
		os.Exit(m.Run())
	}
	for to := Paused; ; {
		if err := SetStatus(repo, "0001", to, time.Now()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(to)
		if to == Paused {
			to = Active
		} else {
			to = Paused
		}
	}
}

// A killed writer leaves the old file or the new one.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200_000) // so that there is something to write in parts
	content := func(status, at string) string {
		return fmt.Sprintf(`{"a":%q,"status":%q,"lastActivity":%q,"z":%q}`, long, status, at, long)
	}
	repo := repository(t, map[string]string{"0001-a/metadata.json": content(Active, "2026-01-01T00:00:00.000Z")})
	path := filepath.Join(repo, home, "0001-a", metadata)
	old := time.Now().Add(-time.Hour)
	litter := filepath.Join(filepath.Dir(path), ".metadata.json1234567890123")
	mine := filepath.Join(filepath.Dir(path), ".notes1234567890123")
	for _, name := range []string{litter, mine} {
		if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Chtimes(name, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 15 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), helperEnv+"="+repo)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 1+round*7)
		if _, err := out.Read(buf); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		inc, err := Load(repo, "0001")
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		data, err := os.ReadFile(path)
		if want := content(inc.Status, inc.LastActivity.Format(instantLayout)); err != nil || string(data) != want {
			t.Fatalf("round %d: %d bytes, %v, want %d", round, len(data), err, len(want))
		}
		if inc.Status == Paused { // each writer begins with a pause
			if err := SetStatus(repo, "0001", Active, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := os.Lstat(litter); err == nil {
		t.Error("what a killed writer left an hour ago is still there")
	}
	if _, err := os.Lstat(mine); err != nil {
		t.Error("a file of somebody else is gone")
	}
}

func TestFileThatLeadsOutsideIsNotReplaced(t *testing.T) {
	t.Parallel()
	repo, outside := repository(t, map[string]string{"0001-a/x": ""}), filepath.Join(t.TempDir(), "x.json")
	link := filepath.Join(repo, home, "0001-a", metadata)
	if err := errors.Join(os.WriteFile(outside, []byte("{}"), 0o600), os.Symlink(outside, link)); err != nil {
		t.Fatal(err)
	}
	f, err := open(repo)
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if err := f.replace(in("0001-a", metadata), []byte("{}"), []byte("[]"), func() {}); err == nil || !strings.Contains(err.Error(), "leads out of the repository") {
		t.Errorf("got %v", err)
	}
	unchanged(t, outside, "{}")
}
