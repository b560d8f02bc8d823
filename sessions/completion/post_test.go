package completion

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"autopilot/metrics/episode"
	"autopilot/sessions/task"
)

func TestPost(t *testing.T) {
	t.Parallel()
	d := newDesk(t).with("s-1")
	checklist(t, d, "p")
	d.Place.ListID, d.Place.Session, d.Place.Files, d.Cap = "list", "s-1", []string{"PLAN.md"}, 7
	d.Place.GH = func(context.Context, ...string) ([]byte, error) { return nil, nil }
	d.Defaults = Settings{MaxIterations: 3, TaskSources: []string{task.FileChecklist}}
	d.ReportFile, d.Supervised = filepath.Join(d.Folder, "report.json"), true
	folder := filepath.Join(t.TempDir(), "session", "desk")
	if err := Post(folder, d, true); err != nil {
		t.Fatal(err)
	}
	got := must[Desk](t)(OpenDesk(folder))
	want := d
	want.Folder, want.Place.GH = folder, nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("desk (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder %v, %v", info, err)
	}
	if st := must[Status](t)(got.Status(t.Context(), time.Now())); !st.Enabled || st.SessionID != "s-1" || st.MaxIterations != 3 {
		t.Errorf("status %+v", st)
	}
	if dec, err := got.Stop(t.Context(), Turn{Now: time.Now()}); err != nil || dec.AllowStop {
		t.Errorf("stop: %+v, %v", dec, err)
	}
	if _, err := os.Stat(d.Folder); !os.IsNotExist(err) {
		t.Errorf("the project's own folder was touched: %v", err)
	}
	// Its supervisor remembers the work, so the end at the desk is no episode as well.
	checklist(t, d, "c")
	if dec, err := got.Stop(t.Context(), Turn{Now: time.Now()}); err != nil || dec.Outcome != AllComplete {
		t.Errorf("stop: %+v, %v", dec, err)
	}
	if l := must[episode.Learned](t)(got.Learn()); l.Episodes != 0 {
		t.Errorf("%d episodes are kept, want none", l.Episodes)
	}
}

func TestPostOfASessionThatMayStop(t *testing.T) {
	t.Parallel()
	d := newDesk(t).with("s")
	checklist(t, d, "p")
	if err := Post(d.Folder, d, false); err != nil {
		t.Fatal(err)
	}
	got := must[Desk](t)(OpenDesk(d.Folder))
	if dec, err := got.Stop(t.Context(), Turn{Now: time.Now()}); err != nil || !dec.AllowStop {
		t.Errorf("stop: %+v, %v", dec, err)
	}
	// The agent may bind itself.
	must[Status](t)(got.Enable(t.Context(), noon()))
	if dec := stop(t, got, "s", 1); dec.AllowStop {
		t.Errorf("stop: %+v", dec)
	}
}

func TestOpenDeskRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{", "[]", "{}", `{"session":"../x"}`, `{"session":5}`} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "desk.json"), text)
		if _, err := OpenDesk(dir); err == nil || !strings.Contains(err.Error(), "open desk") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := OpenDesk(t.TempDir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no desk: %v", err)
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if err := d.with("s").Report(Report{Summary: "x", NeedsPerson: "which?"}); err != nil {
		t.Errorf("without a supervisor: %v", err)
	}
	if e := must[[]Event](t)(d.Log(0)); len(e) != 1 || e[0]["event"] != "report" || e[0]["summary"] != "x" || e[0]["needsPerson"] != "which?" || e[0]["sessionId"] != "s" {
		t.Errorf("the log has %v", e)
	}
	d.ReportFile = filepath.Join(t.TempDir(), "report.json")
	for _, empty := range []Report{{}, {Summary: " \n\x00"}, {Completed: []string{"a"}}} {
		if err := d.Report(empty); err == nil {
			t.Errorf("%+v was taken", empty)
		}
	}
	if _, err := os.Stat(d.ReportFile); !os.IsNotExist(err) {
		t.Errorf("a refused report was written: %v", err)
	}
	secret := "sk-ant-REDACTED"
	many := make([]string, 100)
	for i := range many {
		many[i] = strings.Repeat("é", 10000) + secret
	}
	err := d.Report(Report{
		Summary: "first line\nkey " + secret + "\x1b[31m\xff", Completed: many, CarriedOver: []string{" ", "\u202eb"},
		NextSteps: []string{strings.Repeat("x", pointRunes-9) + " " + secret}, NeedsPerson: strings.Repeat("x", 1<<20),
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(d.ReportFile)
	if err != nil {
		t.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Report{Summary: "first line\nkey [redacted][31m", CarriedOver: []string{"b"}}, r, cmpopts.IgnoreFields(Report{}, "Completed", "NextSteps", "NeedsPerson")); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if strings.Contains(string(data), "sk-ant") || strings.Contains(string(data), "sk-") {
		t.Errorf("a secret stayed")
	}
	if n := utf8.RuneCountInString(r.NeedsPerson); n != summaryRunes || len(r.Completed) != mostPoints || utf8.RuneCountInString(r.Completed[0]) != pointRunes {
		t.Errorf("%d runes, %d points", n, len(r.Completed))
	}
	if err := d.Report(Report{Summary: "last"}); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(d.ReportFile); strings.Contains(string(data), "first") || !strings.Contains(string(data), `"last"`) {
		t.Errorf("the last report does not count: %s", data)
	}
}
