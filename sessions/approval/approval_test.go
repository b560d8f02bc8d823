package approval

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/sessions/approval/rule"
)

const helperEnv = "APPROVAL_TEST_HELPER"

// TestMain lets the test binary play another process: it asks for the same call again and
// again and says what came of it.
func TestMain(m *testing.M) {
	dir := os.Getenv(helperEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	d := Desk{Dir: dir}
	for {
		v, err := d.Hold(push(), found(), Who{RunID: "r"}, noon(), Look{})
		if err == nil && !v.Allow {
			_, err = d.Approve(v.Gate.ID, "helper", noon())
			if _, decided := errors.AsType[*DecidedError](err); decided {
				err = nil
			}
		}
		if err != nil {
			fmt.Println("error", err)
			continue
		}
		fmt.Println(v.Allow, v.Gate.ID)
	}
}

func noon() time.Time { return time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC) }

func after(d time.Duration) time.Time { return noon().Add(d) }

func bash(command string) rule.Call {
	data, err := json.Marshal(map[string]any{"command": command, "description": "Push the branch", "timeout": 1000})
	if err != nil {
		panic(err)
	}
	return rule.Call{Tool: "Bash", Input: data, Dir: "/srv/repo"}
}

func push() rule.Call { return bash("git push heroku main") }

func found() []rule.Finding {
	return []rule.Finding{{Rule: "deploy", Why: "puts a version into service", Part: "git push heroku main"}}
}

func desk(t *testing.T) Desk {
	t.Helper()
	return Desk{Dir: filepath.Join(t.TempDir(), "state", "gates"), Timeout: time.Hour}
}

func (d Desk) mustHold(t *testing.T, c rule.Call, who Who, now time.Time) Verdict {
	t.Helper()
	v, err := d.Hold(c, found(), who, now, Look{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestACallIsHeldUntilItIsApprovedAndGoesThroughOnce(t *testing.T) {
	t.Parallel()
	d, who := desk(t), Who{RunID: "r1", SessionID: "s1"}
	diffs := 0
	v, err := d.Hold(push(), found(), who, noon(), Look{Diff: func() string { diffs++; return " M main.go\n" }})
	if err != nil || v.Allow {
		t.Fatalf("Hold = %+v, %v, want it held", v, err)
	}
	want := Gate{
		ID: v.Gate.ID, Fingerprint: v.Gate.Fingerprint, RunID: "r1", SessionID: "s1", LastSession: "s1", Tool: "Bash", Subject: "git push heroku main",
		Input: `{"command":"git push heroku main","description":"Push the branch","timeout":1000}`, Dir: "/srv/repo", Rules: found(), Diff: " M main.go\n",
		AskedAt: noon(), ExpiresAt: after(time.Hour), Asked: 1, Status: Pending,
	}
	if diff := cmp.Diff(want, v.Gate); diff != "" {
		t.Errorf("gate (-want +got):\n%s", diff)
	}
	for _, piece := range []string{v.Gate.ID, "deploy (puts a version into service): git push heroku main", "needs_person", "another way", "2026-09-01 13:00 UTC"} {
		if !strings.Contains(v.Reason, piece) {
			t.Errorf("reason %q does not say %q", v.Reason, piece)
		}
	}
	again, err := d.Hold(push(), found(), who, after(time.Minute), Look{Diff: func() string { diffs++; return "" }})
	if err != nil || again.Allow || again.Gate.ID != v.Gate.ID || again.Gate.Asked != 2 || diffs != 1 {
		t.Errorf("asked again: %+v, %v, %d diffs; want the same gate, asked twice, one diff", again, err, diffs)
	}
	g, err := d.Approve(strings.TrimPrefix(v.Gate.ID, "g-"), "ann", after(2*time.Minute))
	if err != nil || g.Status != Approved || g.By != "ann" || !g.DecidedAt.Equal(after(2*time.Minute)) {
		t.Fatalf("Approve = %+v, %v", g, err)
	}
	// The description of a command does not make it another one.
	call := push()
	call.Input = json.RawMessage(`{"description":"Try again", "command":"git push heroku main"}`)
	if v := d.mustHold(t, call, Who{RunID: "other"}, after(time.Hour)); !v.Allow || v.Gate.Status != Used || v.Gate.ID != g.ID {
		t.Errorf("after the approval: %+v, want it let through", v)
	}
	if v := d.mustHold(t, push(), who, after(time.Hour)); v.Allow || v.Gate.ID == g.ID || v.Gate.Asked != 1 {
		t.Errorf("a second time: %+v, want a gate of its own", v)
	}
}

func TestCallsThatDifferDoNotShareAGate(t *testing.T) {
	t.Parallel()
	d := desk(t)
	ids := map[string]bool{}
	base := push()
	elsewhere, tool := base, base
	elsewhere.Dir = "/srv/other"
	tool.Tool = "Monitor"
	background := base
	background.Input = json.RawMessage(`{"command":"git push heroku main","run_in_background":true}`)
	for _, c := range []rule.Call{base, elsewhere, tool, background, bash("git push heroku main --verbose")} {
		ids[d.mustHold(t, c, Who{}, noon()).Gate.ID] = true
	}
	more := append(found(), rule.Finding{Rule: "secrets", Why: "x", Part: "cat .env"})
	v, err := d.Hold(base, more, Who{}, noon(), Look{})
	if err != nil {
		t.Fatal(err)
	}
	ids[v.Gate.ID] = true
	if len(ids) != 6 {
		t.Errorf("%d gates for six calls", len(ids))
	}
}

func TestADenialStandsForItsRun(t *testing.T) {
	t.Parallel()
	d, who := desk(t), Who{RunID: "r1"}
	id := d.mustHold(t, push(), who, noon()).Gate.ID
	if _, err := d.Deny(id, "ann", "not on a Friday\x1b[31m", noon()); err != nil {
		t.Fatal(err)
	}
	v := d.mustHold(t, push(), who, after(48*time.Hour))
	if v.Allow || v.Gate.ID != id || !strings.Contains(v.Reason, "not on a Friday") || !strings.Contains(v.Reason, "ann") || strings.Contains(v.Reason, "\x1b") {
		t.Errorf("Hold = %+v, want the person's reason", v)
	}
	if v := d.mustHold(t, push(), Who{RunID: "r2"}, after(time.Hour)); v.Gate.ID == id || v.Gate.Status != Pending {
		t.Errorf("another run: %+v, want a new gate", v)
	}
	var decided *DecidedError
	if _, err := d.Approve(id, "bob", noon()); !errors.As(err, &decided) || !strings.Contains(err.Error(), "denied by ann") {
		t.Errorf("Approve after Deny: %v", err)
	}
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	d, who := desk(t), Who{RunID: "r1"}
	id := d.mustHold(t, push(), who, noon()).Gate.ID
	if g, err := d.Get(id, after(time.Hour)); err != nil || g.Status != Pending {
		t.Errorf("at the last moment: %s, %v", g.Status, err)
	}
	late := after(time.Hour + time.Nanosecond)
	if g, err := d.Get(id, late); err != nil || g.Status != Expired {
		t.Errorf("past it: %s, %v", g.Status, err)
	}
	if v := d.mustHold(t, push(), who, late); v.Allow || v.Gate.ID != id || !strings.Contains(v.Reason, "Nobody answered") {
		t.Errorf("Hold = %+v, want it refused", v)
	}
	if data, err := os.ReadFile(filepath.Join(d.Dir, v1(t, d, late).fileName())); err != nil || !strings.Contains(string(data), `"expired"`) {
		t.Errorf("the file does not say that it has expired: %s, %v", data, err)
	}
	if _, err := d.Approve(id, "ann", after(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if v := d.mustHold(t, push(), who, after(3*time.Hour)); !v.Allow {
		t.Errorf("approved afterwards: %+v, want it let through", v)
	}
}

func v1(t *testing.T, d Desk, now time.Time) Gate {
	t.Helper()
	gates, err := d.List(now)
	if err != nil || len(gates) != 1 {
		t.Fatalf("List = %v, %v, want one gate", gates, err)
	}
	return gates[0]
}

func TestAnApprovalDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	d, who := desk(t), Who{RunID: "r1"}
	id := d.mustHold(t, push(), who, noon()).Gate.ID
	if _, err := d.Approve(id, "ann", noon()); err != nil {
		t.Fatal(err)
	}
	if v := d.mustHold(t, push(), who, after(approvalLife+time.Second)); v.Allow || !strings.Contains(v.Reason, "was not used in time") {
		t.Errorf("after a day: %+v, want it refused", v)
	}
	if _, err := d.Approve(id, "ann", after(approvalLife+time.Minute)); err != nil {
		t.Errorf("approved again: %v", err)
	}
	if v := d.mustHold(t, push(), who, after(2*approvalLife)); !v.Allow {
		t.Errorf("after that: %+v, want it let through", v)
	}
}

func TestAnApprovalCanBeTakenBack(t *testing.T) {
	t.Parallel()
	d := desk(t)
	id := d.mustHold(t, push(), Who{}, noon()).Gate.ID
	if _, err := d.Approve(id, "ann", noon()); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Deny(id, "ann", "a mistake", noon()); err != nil {
		t.Fatal(err)
	}
	if v := d.mustHold(t, push(), Who{}, noon()); v.Allow {
		t.Error("let through after the approval was taken back")
	}
}

func TestApprovedInAdvance(t *testing.T) {
	t.Parallel()
	d := desk(t)
	d.Advance = []string{"deploy", "force-push"}
	if v := d.mustHold(t, push(), Who{}, noon()); !v.Allow || v.Gate.Status != Used || v.Gate.By != "approved in advance" {
		t.Errorf("Hold = %+v, want it let through and written down", v)
	}
	for _, f := range [][]rule.Finding{
		{{Rule: "force-push", Never: true}},
		append(found(), rule.Finding{Rule: "deploy", Part: "x", Never: true}),
		append(found(), rule.Finding{Rule: "secrets"}),
	} {
		if v, err := d.Hold(push(), f, Who{}, noon(), Look{}); err != nil || v.Allow {
			t.Errorf("Hold(%v) = %v, %v, want it held", f, v.Allow, err)
		}
	}
	gates, err := d.List(noon())
	if err != nil || len(gates) != 4 {
		t.Errorf("%d gates, %v, want four", len(gates), err)
	}
}

func TestOneApprovalLetsOneThroughOfMany(t *testing.T) {
	t.Parallel()
	d := desk(t)
	id := d.mustHold(t, push(), Who{}, noon()).Gate.ID
	if _, err := d.Approve(id, "ann", noon()); err != nil {
		t.Fatal(err)
	}
	var through atomic.Int32
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			v, err := d.Hold(push(), found(), Who{}, noon(), Look{})
			if err == nil && v.Allow {
				through.Add(1)
			}
		})
	}
	wg.Wait()
	if n := through.Load(); n != 1 {
		t.Errorf("%d let through, want one", n)
	}
	gates, err := d.List(noon())
	if err != nil || len(gates) != 2 || gates[0].Status != Used && gates[1].Status != Used {
		t.Errorf("gates %+v, %v, want a used one and one that waits", gates, err)
	}
}

func TestWhoAsksWhileAnotherLooksAtTheChangesSharesItsGate(t *testing.T) {
	t.Parallel()
	d := desk(t)
	var inner Verdict
	outer, err := d.Hold(push(), found(), Who{}, noon(), Look{Diff: func() string {
		inner = d.mustHold(t, push(), Who{}, noon())
		return ""
	}})
	if err != nil || outer.Allow || outer.Gate.ID != inner.Gate.ID {
		t.Errorf("Hold = %+v, %v, want the gate %s", outer, err, inner.Gate.ID)
	}
	if g := v1(t, d, noon()); g.Asked != 2 {
		t.Errorf("asked %d times, want twice", g.Asked)
	}
}

func TestKilledProcessesNeverUseAnApprovalTwice(t *testing.T) {
	t.Parallel()
	d := Desk{Dir: filepath.Join(t.TempDir(), "gates")}
	passed := map[string]int{}
	for i := range 12 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), helperEnv+"="+d.Dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if id, ok := strings.CutPrefix(lines.Text(), "true "); ok {
				passed[id]++
			} else if strings.HasPrefix(lines.Text(), "error") {
				t.Error(lines.Text())
			}
			if n == 3+i {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait()
		gates, err := d.List(noon())
		if err != nil {
			t.Fatalf("after a kill: %v", err)
		}
		open := 0
		for _, g := range gates {
			if g.Status == Pending || g.Status == Approved {
				open++
			}
		}
		if open > 1 {
			t.Fatalf("after a kill %d gates are open, want at most one", open)
		}
	}
	if len(passed) == 0 {
		t.Fatal("nothing was let through")
	}
	for id, n := range passed {
		if n != 1 {
			t.Errorf("gate %s let %d through", id, n)
		}
	}
}

func TestGateIsFoundByTheBeginningOfItsID(t *testing.T) {
	t.Parallel()
	d := desk(t)
	if _, err := d.Get("g-abc", noon()); err == nil {
		t.Error("found a gate in a folder that is not there")
	}
	for _, id := range []string{"g-abc222", "g-abd222"} {
		g := newGate(bash(id), found(), Who{RunID: id}, fingerprint(bash(id), found(), nil))
		g.ID, g.Status, g.AskedAt, g.ExpiresAt = id, Pending, noon(), after(time.Hour)
		if err := d.locked(func() error { return d.save(g) }); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]string{"g-abc": "g-abc222", "ABD": "g-abd222", " g-abc222 ": "g-abc222"} {
		if g, err := d.Get(id, noon()); err != nil || g.ID != want {
			t.Errorf("Get(%q) = %s, %v, want %s", id, g.ID, err, want)
		}
	}
	var many *AmbiguousError
	if _, err := d.Approve("ab", "ann", noon()); !errors.As(err, &many) || !cmp.Equal(many.Which, []string{"g-abc222", "g-abd222"}) {
		t.Errorf("Approve(ab) = %v", err)
	}
	var unknown *UnknownError
	for _, id := range []string{"", "g-", "-", "g-x", "../x", "g-abc222."} {
		if _, err := d.Deny(id, "ann", "", noon()); !errors.As(err, &unknown) {
			t.Errorf("Deny(%q) = %v, want it unknown", id, err)
		}
	}
	if got, err := d.Pending("g-abc222", noon()); err != nil || len(got) != 1 {
		t.Errorf("Pending of one run = %v, %v", got, err)
	}
	if got, err := d.Pending("", noon()); err != nil || len(got) != 2 {
		t.Errorf("Pending = %v, %v", got, err)
	}
	if got, err := d.Pending("", after(2*time.Hour)); err != nil || len(got) != 0 {
		t.Errorf("Pending later = %v, %v", got, err)
	}
}

func TestABrokenFileIsNamedAndLetsNothingThrough(t *testing.T) {
	t.Parallel()
	d := desk(t)
	g := d.mustHold(t, push(), Who{}, noon()).Gate
	if _, err := d.Approve(g.ID, "ann", noon()); err != nil {
		t.Fatal(err)
	}
	approved, err := os.ReadFile(filepath.Join(d.Dir, g.fileName()))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(d.Dir, g.fileName()), []byte(`{"id":`), 0o600); err != nil {
		t.Fatal(err)
	}
	d.mustHold(t, bash("npm publish"), Who{}, noon())
	if v := d.mustHold(t, push(), Who{}, noon()); v.Allow {
		t.Error("a broken file let a call through")
	}
	gates, err := d.List(noon())
	if err == nil || !strings.Contains(err.Error(), g.fileName()) || len(gates) != 2 {
		t.Errorf("List = %d gates, %v, want two and the name of the broken one", len(gates), err)
	}
	// A record that was put under another name is none.
	if err := os.WriteFile(filepath.Join(d.Dir, "g-zzzzzz."+g.Fingerprint[:fileMark]+".json"), approved, 0o600); err != nil {
		t.Fatal(err)
	}
	if v := d.mustHold(t, push(), Who{}, noon()); v.Allow {
		t.Error("a record under another name let a call through")
	}
}

func TestNothingIsAllowedThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, d := range []Desk{{Dir: filepath.Join(file, "gates")}, {Dir: filepath.Join(file, "gates"), Advance: []string{"deploy"}}} {
		if v, err := d.Hold(push(), found(), Who{}, noon(), Look{}); err == nil || v.Allow {
			t.Errorf("Hold = %+v, %v, want an error", v, err)
		}
	}
	if v, err := (Desk{}).Hold(push(), nil, Who{}, noon(), Look{}); err != nil || !v.Allow {
		t.Errorf("without findings: %+v, %v, want it free", v, err)
	}
}

func TestRecordsHoldNoSecretsAndNoControlCharacters(t *testing.T) {
	t.Parallel()
	d := desk(t)
	secret := "sk-ant-api03-abcdefgh12345678"
	command := "echo " + secret + "\x1b[2J \u202e && PASSWORD=hunter2hunter2 x " + strings.Repeat("y", 5_000)
	finding := rule.Finding{Rule: "secrets", Why: "w", Part: "echo " + secret + "\n\x07"}
	v, err := d.Hold(bash(command), []rule.Finding{finding}, Who{}, noon(), Look{Diff: func() string { return secret + "\x1b]0;x\x07" + strings.Repeat("+ line\n", 100_000) }})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(d.Dir, v.Gate.fileName()))
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"abcdefgh12345678", "hunter2", "\x1b", "\u202e", "\x07"} {
		if strings.Contains(string(data), bad) || strings.Contains(v.Reason, bad) {
			t.Errorf("the record or the reason holds %q", bad)
		}
	}
	g := v.Gate
	if len(g.Input) > maxInput || len(g.Diff) > maxDiff || strings.Contains(g.Subject, "\n") || len([]rune(g.Subject)) > maxSubject {
		t.Errorf("lengths %d, %d, %d are out of bounds", len(g.Input), len(g.Diff), len(g.Subject))
	}
	for p, want := range map[string]os.FileMode{d.Dir: 0o700, filepath.Join(d.Dir, g.fileName()): 0o600} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", p, info.Mode(), err, want)
		}
	}
}

func TestTheReasonForWhatCannotBeReadSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	f := []rule.Finding{{Rule: "unreadable", Why: "runs what cannot be read beforehand", Part: "$X"}}
	v, err := desk(t).Hold(bash("$X"), f, Who{}, noon(), Look{})
	if err != nil || !strings.Contains(v.Reason, "plain commands") {
		t.Errorf("Hold = %q, %v", v.Reason, err)
	}
}
