package completion

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEventLines are the lines as they stand in the log, for each event.
func TestEventLines(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	checklist(t, d, "cp")
	desk := d.with("s")
	must[Status](t)(desk.Enable(t.Context(), noon()))
	n := 12
	must[Settings](t)(desk.Configure(Change{MaxIterations: &n}, noon()))
	must[Status](t)(desk.Reset(t.Context(), noon()))
	for i := range 7 {
		must[Decision](t)(desk.Stop(t.Context(), Turn{Now: at(i), GoesOn: i > 0, BlockCap: 6, Work: worked(3)}))
	}
	must[Status](t)(desk.Disable(t.Context(), at(7)))
	must[Status](t)(desk.Enable(t.Context(), noon()))
	checklist(t, d, "cf")
	stop(t, d, "s", 1)
	ends := []struct {
		states string
		change func(*State)
	}{
		{"cp", func(s *State) { s.Iterations = 12 }},
		{"cp", func(s *State) { s.TimeoutMinutes = 1 }},
		{"cp", func(s *State) { s.MaxTokens, s.Tokens = 5, 6 }},
		{"cp", func(s *State) { s.Iterations, s.Best = 10, 1 }},
	}
	for _, e := range ends {
		must[Status](t)(desk.Enable(t.Context(), noon()))
		checklist(t, d, e.states)
		if err := d.change("s", func(s *State, _ bool) (bool, error) { e.change(s); return true, nil }); err != nil {
			t.Fatal(err)
		}
		stop(t, d, "s", 1)
	}
	data, err := os.ReadFile(filepath.Join(d.Folder, usualLog))
	if err != nil {
		t.Fatal(err)
	}
	enabled := `{"ts":1788264000000,"event":"enabled","config":{"maxIterations":12,"timeoutMinutes":240,"taskSources":["team-tasks","swarm-tasks","file-checklist"],"completionCriteria":"all-tasks-done","maxTokens":0},"sessionId":"s"}`
	want := strings.Replace(enabled, ":12,", ":50,", 1) + `
{"ts":1788264000000,"event":"config-updated","maxIterations":12,"taskSources":["team-tasks","swarm-tasks","file-checklist"],"timeoutMinutes":240}
{"ts":1788264000000,"event":"reset"}
{"ts":1788264000000,"event":"re-engaging","completed":1,"confidence":0,"iteration":1,"remaining":1,"tokens":3}
{"ts":1788264060000,"event":"re-engaging","completed":1,"confidence":0,"iteration":2,"remaining":1,"tokens":3}
{"ts":1788264120000,"event":"re-engaging","completed":1,"confidence":0,"iteration":3,"remaining":1,"tokens":3}
{"ts":1788264180000,"event":"re-engaging","completed":1,"confidence":0,"iteration":4,"remaining":1,"tokens":3}
{"ts":1788264240000,"event":"re-engaging","completed":1,"confidence":0,"iteration":5,"remaining":1,"tokens":3}
{"ts":1788264300000,"event":"re-engaging","completed":1,"confidence":0,"iteration":6,"remaining":1,"tokens":3}
{"ts":1788264300000,"event":"stall-warning","iterations":6}
{"ts":1788264360000,"event":"let-go","blocks":6}
{"ts":1788264420000,"event":"disabled","iterations":6}
` + enabled + `
{"ts":1788264060000,"event":"all-tasks-complete","durationMs":60000,"failed":1,"iterations":0,"reward":0,"total":2}
` + enabled + `
{"ts":1788264060000,"event":"max-iterations-reached","iterations":12}
` + enabled + `
{"ts":1788264060000,"event":"timeout-reached","elapsed":60000,"minutes":1}
` + enabled + `
{"ts":1788264060000,"event":"budget-reached","maxTokens":5,"tokens":6}
` + enabled + `
{"ts":1788264060000,"event":"stall-auto-disable","completed":1,"iterations":10}
`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestLogSkipsWhatIsNoEvent(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if got := must[[]Event](t)(d.Log(0)); got == nil || len(got) > 0 {
		t.Errorf("no log: %v", got)
	}
	lines := []string{
		`{"ts":1,"event":"a"}`, "", "null", "[]", "{", `{"ts":"1","event":"b"}`, `{"ts":2}`, `{"ts":3,"event":5}`, `{"ts":3,"event":""}`, "\x00\x00", `{"ts":4,"event":"long","x":"` + strings.Repeat("x", eventLimit) + `"}`,
		`{"event":"c","ts":5,"n":1e3}`, `{"ts":6,"event":"torn`,
	}
	write(t, filepath.Join(d.Folder, usualLog), strings.Join(lines, "\n"))
	want := []Event{{"ts": json.Number("1"), "event": "a"}, {"ts": json.Number("5"), "event": "c", "n": json.Number("1e3")}}
	if diff := cmp.Diff(want, must[[]Event](t)(d.Log(0))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[1:], must[[]Event](t)(d.Log(1))); diff != "" {
		t.Errorf("the last one (-want +got):\n%s", diff)
	}
	// What a killed writer left does not take the next event with it.
	if err := d.log("", newEvent(noon(), "d", nil)); err != nil {
		t.Fatal(err)
	}
	if got := events(t, d); !cmp.Equal(got, []string{"a", "c", "d"}) {
		t.Errorf("events %q", got)
	}
	if err := d.ClearLog(); err != nil {
		t.Fatal(err)
	}
	if got := events(t, d); len(got) > 0 {
		t.Errorf("events %q after clearing", got)
	}
}

func TestClearLogOfNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if err := d.ClearLog(); err != nil {
		t.Error(err)
	}
	write(t, filepath.Join(d.Folder, "x"), "")
	if err := d.ClearLog(); err != nil {
		t.Error(err)
	}
}

func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if err := os.MkdirAll(d.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	const before, writers, each = 1700, 4, 150
	write(t, filepath.Join(d.Folder, usualLog), strings.Repeat(`{"ts":1788264000000,"event":"before","n":0}`+"\n", before))
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				if err := d.log("", newEvent(noon(), fmt.Sprintf("w%d", w), Event{"n": n})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	all := must[[]Event](t)(d.Log(0))
	if n, want := len(all), keptEvents+before+writers*each-mostEvents-1; n != want {
		t.Errorf("%d events are kept, want %d", n, want)
	}
	next := map[string]int64{}
	for _, e := range all {
		n, err := e["n"].(json.Number).Int64()
		name := e["event"].(string)
		if name == "before" {
			continue
		}
		if want, seen := next[name]; err != nil || seen && n != want {
			t.Fatalf("%s: %d, want %d, %v", name, n, want, err)
		}
		next[name] = n + 1
	}
	for name, n := range next {
		if n != each {
			t.Errorf("%s: the last events are lost, from %d on", name, n)
		}
	}
}

func TestLogInTheRepository(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	for _, tt := range []struct {
		file string
		ok   bool
	}{
		{"log.jsonl", true},
		{".claude-flow/data/log.jsonl", true},
		{"a/../b.jsonl", true},
		{"link/log.jsonl", true},
		{"/tmp/x.jsonl", false},
		{"../x.jsonl", false},
		{"a/../../x.jsonl", false},
		{".", false},
		{".git/hooks/post-commit", false},
		{"sub/.git/x", false},
		{"away/log.jsonl", false},
		{"away.jsonl", false},
		{"dangling.jsonl", false},
		{"README.md", false},
		{"list.json", false},
		{"folder", false},
	} {
		d := newDesk(t).with("s")
		d.Defaults.LogFile = tt.file
		checklist(t, d, "p")
		repo := d.Place.Repo
		write(t, filepath.Join(out, "away.jsonl"), "{\"ts\":1,\"event\":\"theirs\"}\n")
		write(t, filepath.Join(repo, "README.md"), "# words\n")
		write(t, filepath.Join(repo, "list.json"), "[]\n")
		write(t, filepath.Join(repo, "folder", "x"), "")
		write(t, filepath.Join(repo, "inner", "x"), "")
		for link, target := range map[string]string{"link": "inner", "away": out, "away.jsonl": filepath.Join(out, "away.jsonl"), "dangling.jsonl": filepath.Join(out, "new.jsonl")} {
			if err := os.Symlink(target, filepath.Join(repo, link)); err != nil {
				t.Fatal(err)
			}
		}
		_, err := d.Enable(t.Context(), noon())
		if (err == nil) != tt.ok {
			t.Errorf("%s: enable says %v, want good %v", tt.file, err, tt.ok)
		}
		dec, err := d.Stop(t.Context(), Turn{Now: at(1)})
		if dec.AllowStop == tt.ok || err != nil {
			t.Errorf("%s: stop %+v, %v: what was refused has no effect", tt.file, dec, err)
		}
		if got, err := d.Log(0); tt.ok && (err != nil || len(got) != 2) {
			t.Errorf("%s: %v, %v", tt.file, got, err)
		}
		if err := d.ClearLog(); (err == nil) != tt.ok {
			t.Errorf("%s: clear says %v", tt.file, err)
		}
		for name, want := range map[string]string{filepath.Join(repo, "README.md"): "# words\n", filepath.Join(repo, "list.json"): "[]\n", filepath.Join(out, "away.jsonl"): "{\"ts\":1,\"event\":\"theirs\"}\n"} {
			if data, err := os.ReadFile(name); err != nil || string(data) != want {
				t.Errorf("%s: %s holds %q, %v", tt.file, name, data, err)
			}
		}
		if entries, err := os.ReadDir(out); err != nil || len(entries) != 1 {
			t.Errorf("%s: files were made outside: %v, %v", tt.file, entries, err)
		}
	}
}
