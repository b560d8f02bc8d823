package notifycmd

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/notifier"
	"autopilot/cmd/internal/outside"
	"autopilot/supervisor/notice"
	"autopilot/supervisor/notice/channel"
	"autopilot/supervisor/notice/spool"
)

// TestMain lets the test binary be the program that is started to send.
func TestMain(m *testing.M) {
	if len(os.Args) < 3 || strings.Join(os.Args[1:3], " ") != strings.Join(notifier.Deliver(), " ") {
		os.Exit(m.Run())
	}
	c := Command(outside.System(), nil)
	c.SetArgs(os.Args[2:])
	c.SilenceUsage = true
	if err := c.Execute(); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// world is where a command is run.
type world struct {
	*testing.T
	place    Place
	out, err bytes.Buffer
}

func newWorld(t *testing.T, specs ...string) *world {
	t.Helper()
	w := &world{T: t, place: Place{Dir: t.TempDir(), Repo: "/srv/shop", Notify: config.Notify{Events: notice.Kinds(), Interval: 5 * time.Minute, Hourly: 20}}}
	for _, s := range specs {
		c, err := channel.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		w.place.Notify.Channels = append(w.place.Notify.Channels, c)
	}
	return w
}

func (w *world) run(args ...string) error {
	w.Helper()
	self, err := os.Executable()
	if err != nil {
		w.Fatal(err)
	}
	w.out.Reset()
	w.err.Reset()
	std := outside.Stdio{In: strings.NewReader(""), Out: &w.out, Err: &w.err, Environ: []string{"PATH=/usr/bin:/bin", "GORACE=atexit_sleep_ms=0"}, Self: self}
	c := Command(std, func(context.Context) (Place, error) { return w.place, nil })
	c.SetArgs(args)
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetOut(&w.out)
	c.SetErr(&w.err)
	return c.ExecuteContext(w.Context())
}

func server(t *testing.T, status int) (spec string, got *[]string) {
	t.Helper()
	got = &[]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		*got = append(*got, string(data))
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(s.Close)
	return "ntfy://" + strings.TrimPrefix(s.URL, "http://") + "/secrettopic?scheme=http", got
}

func code(err error) int {
	if err == nil {
		return 0
	}
	if s, ok := errors.AsType[outside.Silent](err); ok {
		return int(s)
	}
	if e, ok := errors.AsType[*outside.Error](err); ok {
		return e.ExitCode()
	}
	return 1
}

func TestTest(t *testing.T) {
	t.Parallel()
	good, heard := server(t, 200)
	bad, _ := server(t, 404)
	w := newWorld(t, good, bad, "command:cat >"+filepath.Join(t.TempDir(), "x"))
	if got := code(w.run("test")); got != 3 {
		t.Errorf("exit %d\n%s", got, &w.out)
	}
	host := func(spec string) string { return strings.SplitN(strings.TrimPrefix(spec, "ntfy://"), "/", 2)[0] }
	lines := strings.Split(w.out.String(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], " 1  ntfy://"+host(good)+"/…: sent in ") || !strings.HasPrefix(lines[1], " 2  ntfy://"+host(bad)+"/…: tell ntfy://") ||
		!strings.Contains(lines[1], "404") || !strings.HasPrefix(lines[2], " 3  command:cat …: sent in ") || strings.Contains(w.out.String(), "secrettopic") {
		t.Errorf("out:\n%s", &w.out)
	}
	if len(*heard) != 1 || !strings.Contains((*heard)[0], "Nothing has happened") || !strings.HasSuffix((*heard)[0], "test · /srv/shop") {
		t.Errorf("heard %q", *heard)
	}
	if got := code(w.run("test", "--channel", "1", "--kind", "Kill-Switch", "--json")); got != 0 || len(*heard) != 2 || !strings.Contains((*heard)[1], "kill-switch") {
		t.Errorf("exit %d, heard %q", got, *heard)
	}
	var results []tried
	if err := json.Unmarshal(w.out.Bytes(), &results); err != nil || len(results) != 1 || !results[0].Sent || results[0].Number != 1 {
		t.Errorf("results %+v, %v", results, err)
	}
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"no channel":      {"test", "--channel", "2"},
		"negative":        {"test", "--channel", "-1"},
		"unknown kind":    {"test", "--kind", "nope"},
		"further words":   {"test", "now"},
		"unknown command": {"list", "x"},
	} {
		w := newWorld(t, "desktop")
		if err := w.run(args...); err == nil || name != "further words" && name != "unknown command" && code(err) != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, args := range [][]string{{"test"}, {"test", "--json"}, {"flush"}} {
		w := newWorld(t)
		if err := w.run(args...); code(err) != 2 || outside.HintOf(err) == "" {
			t.Errorf("%v without channels: %v", args, err)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "ntfy://me:hunter2@ntfy.sh/topic", "command:tell --key hunter2")
	w.place.Notify.Events = []notice.Kind{notice.NeedsPerson, notice.Finished}
	if err := w.run("list"); err != nil {
		t.Fatal(err)
	}
	want := " 1  ntfy://ntfy.sh/…\n 2  command:tell …\n\ntold: needs-person, finished\nat most one of a kind every 5m0s, 20 an hour; what comes meanwhile is summed up\n"
	if w.out.String() != want {
		t.Errorf("out:\n%s", &w.out)
	}
	if err := w.run("list", "--json"); err != nil || strings.Contains(w.out.String(), "hunter2") || !json.Valid(w.out.Bytes()) || !strings.Contains(w.out.String(), "ntfy.sh/…") {
		t.Errorf("%v, out:\n%s", err, &w.out)
	}
	w = newWorld(t)
	if err := w.run("list"); err != nil || !strings.HasPrefix(w.out.String(), "nobody is told") {
		t.Errorf("%v, out:\n%s", err, &w.out)
	}
}

func TestFlush(t *testing.T) {
	t.Parallel()
	spec, heard := server(t, 200)
	w := newWorld(t, spec)
	// A notice of a process that is gone, as it stands in the file.
	file := fmt.Sprintf(`{"version":1,"lanes":{%q:{"limiter":{},"waiting":[{"id":1,"held":{"notice":{"kind":"needs-person","at":%q,"title":"left behind"}},"due":"2026-01-31T22:00:00Z","pid":4194311,"start":1}]}}}`,
		w.place.Notify.Channels[0].ID, time.Now().Add(-time.Hour).Format(time.RFC3339))
	if err := os.WriteFile(filepath.Join(w.place.Dir, spool.FileName), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.run("list"); err != nil || !strings.Contains(w.out.String(), "1 still to be told") {
		t.Errorf("%v, out:\n%s", err, &w.out)
	}
	if err := w.run("flush"); err != nil || w.out.String() != "1 of 1 sent or refused, 0 still to be told\n" {
		t.Errorf("%v, out:\n%s\n%s", err, &w.out, &w.err)
	}
	if len(*heard) != 1 || !strings.Contains((*heard)[0], " · of ") {
		t.Errorf("heard %q", *heard)
	}
	if err := w.run("flush"); err != nil || w.out.String() != "nothing is left to be told\n" || len(*heard) != 1 {
		t.Errorf("%v, out:\n%s", err, &w.out)
	}
}

func TestFlushThatFails(t *testing.T) {
	t.Parallel()
	spec, _ := server(t, 503)
	w := newWorld(t, spec)
	box := notifier.BoxOf(w.place.Dir)
	if _, err := box.Put(w.place.Notify.Channels[0].ID, notice.Rules{}, notice.Notice{Kind: notice.Finished, At: time.Now(), Title: "x"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := w.run("flush"); code(err) != 3 || w.out.String() != "0 of 1 sent or refused, 1 still to be told\n" || !strings.Contains(w.err.String(), "503") || strings.Contains(w.err.String(), "secrettopic") {
		t.Errorf("%v, out:\n%s\n%s", err, &w.out, &w.err)
	}
}
