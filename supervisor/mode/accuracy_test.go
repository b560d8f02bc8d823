package mode

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func ran(session string) Accuracy {
	return Accuracy{Recommended: Feature, Chosen: Feature, Session: session, Run: "main-2026-09-01-1200-autopilot", Confidence: 0.9}
}

// metrics makes the folder that the learnings are kept in.
func metrics(t *testing.T) (repo, name string) {
	t.Helper()
	repo = t.TempDir()
	name = filepath.Join(repo, filepath.FromSlash(learningsFile))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	return repo, name
}

func textOf(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func record(t *testing.T, repo string, a Accuracy) {
	t.Helper()
	if err := RecordAccuracy(repo, a, noon()); err != nil {
		t.Fatal(err)
	}
}

func TestRecordAccuracy(t *testing.T) {
	t.Parallel()
	repo, name := metrics(t)
	if err := RecordAccuracy(repo, ran("s1"), noon().In(time.FixedZone("east", 3600))); err != nil {
		t.Fatal(err)
	}
	want := `{"id":"mode-selector-accuracy-feature-selected-vs-feature-s1","type":"mode-selector-accuracy","subject":"feature-selected-vs-feature",` +
		`"insight":"The unattended run did the recommended feature session.","evidence":"session s1: recommended feature with confidence 0.90, done feature",` +
		`"confidence":0.5,"source_session":"s1","created_at":"2026-09-01T12:00:00.000Z","expires_at":"2026-10-01T12:00:00.000Z","schema_version":1,` +
		`"scope":"local","host_class":null,"anonymized":false,"autopilot_run_id":"main-2026-09-01-1200-autopilot"}`
	if got := strings.TrimRight(textOf(t, name), " \n"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	other := ran("s2")
	other.Chosen, other.Run = Deep, ""
	record(t, repo, other)
	lines := strings.Split(strings.TrimSpace(textOf(t, name)), "\n")
	if len(lines) != 2 || strings.TrimSpace(lines[0]) != want {
		t.Fatalf("got %d lines, want the first as it was and one more: %q", len(lines), lines)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(lines[1]), &got); err != nil {
		t.Fatal(err)
	}
	if got["subject"] != "feature-selected-vs-deep" || got["insight"] != "A deep session was done although feature was recommended." {
		t.Errorf("got %v", got)
	}
	if _, there := got["autopilot_run_id"]; there {
		t.Errorf("a run without an id has one: %v", got)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the new file has mode %v, want 0600 (%v)", info.Mode(), err)
	}
}

// TestAccuracyIsReadAgain loads what was recorded as a learning; it gives no hint for a mode.
func TestAccuracyIsReadAgain(t *testing.T) {
	t.Parallel()
	repo, _ := metrics(t)
	record(t, repo, ran("s1"))
	got, warnings := Load(repo, noon().Add(time.Hour))
	want := []Learning{{
		Type: "mode-selector-accuracy", Subject: "feature-selected-vs-feature", Confidence: 0.5,
		ExpiresAt: "2026-10-01T12:00:00.000Z", CreatedAt: "2026-09-01T12:00:00.000Z",
	}}
	if diff := cmp.Diff(want, got.Learnings); diff != "" || warnings != nil {
		t.Errorf("learnings (-want +got), warnings %v:\n%s", warnings, diff)
	}
	if n := gather(got).hints(Feature); n != 0 {
		t.Errorf("it counts as %d hints, want none", n)
	}
	if got, _ := Load(repo, noon().AddDate(0, 0, 30)); len(got.Learnings) != 0 {
		t.Errorf("after 30 days there are still %v", got.Learnings)
	}
}

func TestRecordAccuracyOnlyOnce(t *testing.T) {
	t.Parallel()
	repo, name := metrics(t)
	record(t, repo, ran("s1"))
	before := textOf(t, name)
	if err := RecordAccuracy(repo, ran("s1"), noon().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := textOf(t, name); got != before {
		t.Errorf("the same session is there twice: %q", got)
	}
	record(t, repo, ran("s11"))
	if got := strings.Count(textOf(t, name), "\n"); got != 2 {
		t.Errorf("got %d lines, want 2: another session is another learning", got)
	}
}

func TestRecordAccuracyWritesNothing(t *testing.T) {
	t.Parallel()
	bare := t.TempDir()
	record(t, bare, ran("s1"))
	if entries, err := os.ReadDir(bare); err != nil || len(entries) != 0 {
		t.Errorf("a repository without the folder got %v, %v", entries, err)
	}
	half := t.TempDir()
	put(t, half, ".orchestrator", "a file")
	record(t, half, ran("s1"))
	file := t.TempDir()
	put(t, file, ".orchestrator/metrics", "a file")
	record(t, file, ran("s1"))

	repo, name := metrics(t)
	record(t, repo, Accuracy{Chosen: Feature, Session: "s1"})
	for _, a := range []Accuracy{
		{Recommended: "banana", Chosen: Feature, Session: "s1"},
		{Recommended: Feature, Chosen: "", Session: "s1"},
		{Recommended: Feature, Chosen: "Deep", Session: "s1"},
		{Recommended: Feature, Chosen: Deep},
		{Recommended: Feature, Chosen: Deep, Session: "two words"},
		{Recommended: Feature, Chosen: Deep, Session: "a\nb"},
		{Recommended: Feature, Chosen: Deep, Session: "a\xff"},
		{Recommended: Feature, Chosen: Deep, Session: strings.Repeat("x", 201)},
	} {
		if err := RecordAccuracy(repo, a, noon()); err == nil || !strings.HasPrefix(err.Error(), "record accuracy: ") {
			t.Errorf("%+v: got %v, want a refusal", a, err)
		}
	}
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

// TestRecordAccuracyKeepsWhatIsThere begins behind lines of others, one of them without an end.
func TestRecordAccuracyKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	for _, before := range []string{
		"", "\n\n", `{"id":"a","insight":"é"}` + "\n", `{"id":"a"}`, `{"id":"a"}` + "\n" + `{"id":"b","ins`, "no JSON at all\n", "\x00\xff{\n",
	} {
		repo, name := metrics(t)
		if err := os.WriteFile(name, []byte(before), 0o644); err != nil {
			t.Fatal(err)
		}
		record(t, repo, ran("s1"))
		got := textOf(t, name)
		added, kept := strings.CutPrefix(got, before)
		if !kept || !strings.HasSuffix(got, "\n") {
			t.Errorf("%q became %q", before, got)
		}
		if before != "" && !strings.HasSuffix(before, "\n") && !strings.HasPrefix(added, "\n") {
			t.Errorf("behind %q the line goes on: %q", before, added)
		}
		if !json.Valid([]byte(added)) {
			t.Errorf("behind %q stands %q", before, added)
		}
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o644 {
			t.Errorf("the mode became %v, %v", info.Mode(), err)
		}
	}
}

// TestRecordAccuracyBesideOthers appends from many sides at once, as session-orchestrator does: one write, no lock.
func TestRecordAccuracyBesideOthers(t *testing.T) {
	t.Parallel()
	const each, writers = 15, 3
	repo, name := metrics(t)
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := RecordAccuracy(repo, ran(fmt.Sprintf("ours-%d-%d", w, i)), noon()); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for i := range each {
				f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
				if err != nil {
					t.Error(err)
					return
				}
				if _, err := fmt.Fprintf(f, `{"source_session":"theirs-%d-%d","insight":"%s"}`+"\n", w, i, strings.Repeat("x", 40*i)); err != nil {
					t.Error(err)
				}
				f.Close()
			}
		})
	}
	wg.Wait()
	var want, got []string
	for w := range writers {
		for i := range each {
			want = append(want, fmt.Sprintf("ours-%d-%d", w, i), fmt.Sprintf("theirs-%d-%d", w, i))
		}
	}
	ids := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(textOf(t, name)), "\n") {
		var rec struct {
			ID     string `json:"id"`
			Source string `json:"source_session"`
		}
		if err := json.Unmarshal([]byte(line), &rec); err != nil {
			t.Errorf("%v: %q", err, line)
			continue
		}
		if rec.ID != "" && ids[rec.ID] {
			t.Errorf("the id %s is there twice", rec.ID)
		}
		ids[rec.ID] = true
		got = append(got, rec.Source)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sessions (-want +got):\n%s", diff)
	}
}

// TestRecordAccuracyFollowsARename appends to the file that took the place of the old one.
func TestRecordAccuracyFollowsARename(t *testing.T) {
	t.Parallel()
	repo, name := metrics(t)
	record(t, repo, ran("s1"))
	if err := os.WriteFile(name+".tmp", []byte(`{"id":"kept"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".tmp", name); err != nil {
		t.Fatal(err)
	}
	record(t, repo, ran("s1"))
	if got := textOf(t, name); !strings.HasPrefix(got, `{"id":"kept"}`+"\n") || !strings.Contains(got, `"source_session":"s1"`) {
		t.Errorf("got %q", got)
	}
}
