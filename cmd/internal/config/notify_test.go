package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"autopilot/supervisor/notice"
)

func notify(t *testing.T, values ...Value) (Notify, error) {
	t.Helper()
	r, err := Resolve(values)
	return r.Notify, err
}

func given(key string, raw ...string) Value { return Value{Key: key, Raw: raw, Origin: "test"} }

func labels(n Notify) []string {
	var out []string
	for _, c := range n.Channels {
		out = append(out, c.Label)
	}
	return out
}

func TestNotifyDefaults(t *testing.T) {
	t.Parallel()
	n, err := notify(t)
	if err != nil || len(n.Channels) != 0 || n.Interval != 5*time.Minute || n.Hourly != 20 {
		t.Fatalf("%+v, %v", n, err)
	}
	if diff := cmp.Diff(notice.Kinds(), n.Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestNotifyValues(t *testing.T) {
	t.Parallel()
	env := FromEnv([]string{
		"AUTOPILOT_NOTIFY=ntfy://ntfy.sh/topic\n\n telegram://123456789:AAabcdefghijklmnopqrstuvwxyz0123456@telegram?chats=1,2\ncommand:tell 'a, b'\nntfy://ntfy.sh/topic",
		"AUTOPILOT_NOTIFY_EVENTS=Needs-Person, finished", "AUTOPILOT_NOTIFY_INTERVAL=0", "AUTOPILOT_NOTIFY_HOURLY=0",
	})
	n, err := notify(t, env...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"ntfy://ntfy.sh/…", "telegram://…", "command:tell …"}, labels(n)); diff != "" {
		t.Errorf("channels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]notice.Kind{notice.NeedsPerson, notice.Finished}, n.Events); diff != "" || n.Interval != 0 || n.Hourly != 0 {
		t.Errorf("%v, %d, events (-want +got):\n%s", n.Interval, n.Hourly, diff)
	}
}

func TestNotifyIsRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		value Value
		want  string
	}{
		"unknown service": {given("notify", "desktop", "ntfi://host/hunter2secret"), "notify: channel 2: ntfi://… is no known service; did you mean ntfy?"},
		"bad address":     {given("notify", "ntfy://hunter2secret"), "notify: channel 1: ntfy://… is not written as it has to be (as in ntfy://[USER:PASSWORD@]HOST/TOPIC)"},
		"empty command":   {given("notify", "command: "), "notify: channel 1: the command is empty"},
		"a page":          {given("notify", "https://hooks.slack.com/services/hunter2secret"), "for this service write slack://"},
		"kind":            {given("notify-events", "needs-persn"), "did you mean needs-person?"},
		"interval":        {given("notify-interval", "soon"), "notify-interval"},
	} {
		_, err := notify(t, tc.value)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// A repository neither chooses who is told nor keeps it from them.
func TestNotifyIsNotForRepositories(t *testing.T) {
	t.Parallel()
	for _, o := range notifyOptions() {
		if o.Group != GroupNotify || !o.NotInRepo || !strings.HasPrefix(o.Env(), "AUTOPILOT_NOTIFY") {
			t.Errorf("option %+v", o)
		}
		v := given(o.Key, "command:curl hunter2secret")
		v.InRepo = true
		if _, err := notify(t, v); err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "may not be set") {
			t.Errorf("%s: %v", o.Key, err)
		}
	}
}

func TestNotifyIsNotShown(t *testing.T) {
	t.Parallel()
	o, ok := find("notify")
	if !ok || !Secret(o.Key) || Secret("notify-events") || Secret("claude") {
		t.Fatal("which options hold secrets")
	}
	if got := o.shown([]string{"ntfy://me:hunter2@ntfy.sh/topic", "", "hunter2"}); got != "ntfy://ntfy.sh/…, …" {
		t.Errorf("shown as %q", got)
	}
	other, _ := find("notify-events")
	if got := other.shown([]string{"a", "b"}); got != "a, b" {
		t.Errorf("shown as %q", got)
	}
}
