package schedulecmd

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/cmd/internal/nightly"
	"autopilot/cmd/internal/outside"
	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/host"
)

func TestNameOf(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{
		"/srv/app": "app", "/srv/my.app v2": "my-app-v2", "/srv/_x_": "x", "/": "nightly", "/srv/ümlaut": "mlaut",
		"/srv/" + strings.Repeat("a", 39) + "-b": strings.Repeat("a", 39),
	} {
		got := nameOf(dir)
		if got != want || schedule.CheckName(got) != nil {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}

func TestAgree(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		typed         string
		terminal, yes bool
		agreed        bool
	}{
		{"y\n", true, false, true},
		{"yes\n", true, false, true},
		{"\n", true, false, false},
		{"n\n", true, false, false},
		{"", true, false, false},
		{"y\n", false, false, false},
		{"", false, true, true},
	} {
		var errs bytes.Buffer
		std := outside.Stdio{In: strings.NewReader(tt.typed), Err: &errs, TTY: tt.terminal, InTTY: tt.terminal}
		err := agree(t.Context(), std, "Install it?", tt.yes)
		if (err == nil) != tt.agreed || strings.Contains(errs.String(), "Install it? [y/N]") != (tt.terminal && !tt.yes) {
			t.Errorf("%+v: %v, asked %q", tt, err, errs.String())
		}
	}
}

func TestLastWords(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 1, 21, 0, 2, 0, time.UTC)
	three := 3
	for _, tt := range []struct {
		f    nightly.Firing
		want string
	}{
		{nightly.Firing{State: nightly.Ended, Nominal: at, Begun: at, At: at.Add(3*time.Hour + 90*time.Second), Code: &three, RunID: "main-1"}, "Sun 1 Mar 2026 22:00 CET: ended with exit status 3 after 3h1m30s, run main-1"},
		{nightly.Firing{State: nightly.Begun, Nominal: at, Begun: at}, "Sun 1 Mar 2026 22:00 CET: begun and not ended yet"},
		{nightly.Firing{State: nightly.Ended, Begun: at, At: at, Code: &three}, "Sun 1 Mar 2026 22:00 CET: ended with exit status 3 after 0s, started by a person"},
		{nightly.Firing{State: nightly.Missed, Nominal: at, Why: "off"}, "Sun 1 Mar 2026 22:00 CET: missed: off"},
	} {
		if got := lastWords(tt.f, berlin); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
}

func TestQuoted(t *testing.T) {
	t.Parallel()
	if got, want := quoted([]string{"run", "it's $HOME", "", "--at=1", "a;b"}), `run 'it'\''s $HOME' '' --at=1 'a;b'`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTransient(t *testing.T) {
	t.Parallel()
	e := schedule.Entry{Environ: []string{"A=x y", "B=--"}}
	got := transient(e, []string{"/bin/ap", "schedule"})
	want := []string{"--setenv=A=x y", "--setenv=B=--", "--", "/bin/ap", "schedule"}
	if diff := cmp.Diff(want, got[len(got)-5:]); diff != "" || !slices.Contains(got, "--collect") || !slices.Contains(got, "--user") {
		t.Errorf("%q: -want +got\n%s", got, diff)
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		code int
	}{
		{&schedule.InvalidError{Fact: "no", Way: "do"}, 2},
		{&host.NotOursError{Path: "/x"}, 2},
		{&host.LeftError{Err: &host.ChangedError{What: "crontab"}}, 2},
		{outside.UsageHint("way", "no"), 2},
		{errors.New("disk"), 1},
	} {
		var errs bytes.Buffer
		if code := outside.Report(outside.Stdio{Err: &errs}, refusal(tt.err)); code != tt.code {
			t.Errorf("%v: exit %d, want %d", tt.err, code, tt.code)
		}
	}
	if refusal(nil) != nil {
		t.Error("nothing is refused")
	}
}

// TestRowSaysWhatIsWrong: each thing that is not as it should be has its words.
func TestRowSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	spec, err := schedule.Parse(schedule.Request{Window: "22:00-06:00", Zone: "UTC"}, "UTC")
	if err != nil {
		t.Fatal(err)
	}
	installed := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	e := schedule.Entry{Name: "nightly", Backend: schedule.Cron, Spec: spec, CreatedAt: installed}
	for _, tt := range []struct {
		name string
		i    host.Installed
		now  time.Time
		want []string
	}{
		{"all is well", host.Installed{Enabled: true}, installed.Add(time.Hour), nil},
		{"in the window", host.Installed{Enabled: true}, installed.Add(10*time.Hour + time.Minute), nil},
		{"late in the window", host.Installed{Enabled: true}, installed.Add(11 * time.Hour), []string{"nothing happened at Sun 1 Mar 2026 22:00 UTC"}},
		{"two days later", host.Installed{Enabled: true}, installed.Add(50 * time.Hour), []string{"nothing happened at Mon 2 Mar 2026 22:00 UTC"}},
		{"off", host.Installed{}, installed.Add(time.Hour), []string{"it is switched off"}},
		{"gone", host.Installed{Missing: []string{"crontab"}}, installed.Add(time.Hour), []string{"missing: crontab"}},
		{"changed and twice", host.Installed{Enabled: true, Changed: []string{"/u/a.timer"}, Extra: []string{"crontab"}}, installed.Add(time.Hour), []string{"changed by hand: /u/a.timer", "started in another way as well: crontab"}},
		{"an orphan", host.Installed{Enabled: true, Orphan: true}, installed.Add(time.Hour), []string{"its entry is gone"}},
	} {
		tt.i.Entry = e
		r, err := rowOf(host.Host{Root: filepath.Join(t.TempDir(), "state")}, tt.i, tt.now)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Wrong) != len(tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, r.Wrong, tt.want)
			continue
		}
		for i, w := range tt.want {
			if !strings.HasPrefix(r.Wrong[i], w) {
				t.Errorf("%s: %q, want %q", tt.name, r.Wrong[i], w)
			}
		}
	}
}
