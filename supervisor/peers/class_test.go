package peers

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestClassOf(t *testing.T) {
	t.Parallel()
	tests := map[string]Class{
		"bootstrap": Exclusive, "housekeeping": Exclusive, "memory-cleanup": Exclusive, " housekeeping\n": Exclusive,
		"deep": ParallelOK, "feature": ParallelOK,
		"discovery": AlwaysOK, "evolve": AlwaysOK, "plan": AlwaysOK, "repo-audit": AlwaysOK, "portfolio": AlwaysOK,
		"": ParallelOK, "session": ParallelOK, "autopilot": ParallelOK, "Housekeeping": ParallelOK, "planning": ParallelOK,
	}
	for mode, want := range tests {
		if got := ClassOf(mode); got != want {
			t.Errorf("ClassOf(%q) = %s, want %s", mode, got, want)
		}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	peer := func(id, mode string) Peer {
		return Peer{SessionID: id, Mode: mode, Class: ClassOf(mode), Origin: Lock}
	}
	house, deep, feature, plan := peer("h", "housekeeping"), peer("d", "deep"), peer("f", "feature"), peer("p", "plan")
	stale := peer("s", "housekeeping")
	stale.Origin = StateMD
	tests := []struct {
		name  string
		mode  string
		found []Peer
		want  Outcome
		who   string
	}{
		{"nobody", "housekeeping", nil, PassThrough, ""},
		{"reads beside exclusive", "discovery", []Peer{house, deep}, PassThrough, ""},
		{"parallel beside exclusive", "deep", []Peer{deep, house, feature}, Blocked, "h"},
		{"unknown beside exclusive", "autopilot", []Peer{house}, Blocked, "h"},
		{"exclusive beside exclusive", "bootstrap", []Peer{deep, house}, Blocked, "h"},
		{"exclusive beside parallel", "bootstrap", []Peer{plan, deep, feature}, Blocked, "d f"},
		{"exclusive beside reader", "bootstrap", []Peer{plan}, PassThrough, ""},
		{"parallel beside parallel", "feature", []Peer{plan, feature, deep}, Promotion, "f d"},
		{"parallel beside unknown", "feature", []Peer{peer("u", "")}, Promotion, "u"},
		{"parallel beside reader", "feature", []Peer{plan}, PassThrough, ""},
		{"only in STATE.md", "deep", []Peer{stale}, PassThrough, ""},
		{"also in STATE.md", "deep", []Peer{stale, deep}, Promotion, "d"},
		{"no class", "deep", []Peer{{SessionID: "n", Origin: Registry}}, Promotion, "n"},
	}
	for _, tt := range tests {
		d := Decide(tt.mode, tt.found, time.Now())
		var who []string
		for _, p := range d.Peers {
			who = append(who, p.SessionID)
		}
		if d.Outcome != tt.want || strings.Join(who, " ") != tt.who {
			t.Errorf("%s: %s by %v, want %s by %q", tt.name, d.Outcome, who, tt.want, tt.who)
		}
		if d.Why == "" || strings.ContainsAny(d.Why, "\n\r") {
			t.Errorf("%s: why = %q, want one line", tt.name, d.Why)
		}
	}
}

func TestDecideTellsWho(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	found := []Peer{
		{SessionID: "main-2026-03-04-deep-1", Mode: "deep", Class: ParallelOK, Origin: Lock, Worktree: "/srv/shop", StartedAt: now.Add(-3 * time.Hour), LastHeartbeat: now.Add(-time.Minute)},
		{SessionID: "b", Class: ParallelOK, Origin: Registry},
	}
	tests := []struct{ mode, want string }{
		{"feature", "session main-2026-03-04-deep-1 in mode deep, begun 3 hours ago, last seen 1 minute ago, in /srv/shop (and 1 more), so that a worktree of its own is safer"},
		{"housekeeping", "session main-2026-03-04-deep-1 in mode deep, begun 3 hours ago, last seen 1 minute ago, in /srv/shop (and 1 more), and mode housekeeping has to be alone"},
		{"plan", "mode plan only reads and disturbs nobody"},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, Decide(tt.mode, found, now).Why); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.mode, diff)
		}
	}
	if got, want := Decide("deep", found[1:], now).Why, "session b in mode unknown, so that a worktree of its own is safer"; got != want {
		t.Errorf("why = %q, want %q", got, want)
	}
}

func TestAgo(t *testing.T) {
	t.Parallel()
	tests := map[time.Duration]string{
		-time.Second: "in the future by our clock", 0: "just now", 59 * time.Second: "just now", time.Minute: "1 minute ago",
		59 * time.Minute: "59 minutes ago", time.Hour: "1 hour ago", 47 * time.Hour: "47 hours ago", 50 * time.Hour: "2 days ago",
	}
	for d, want := range tests {
		if got := ago(d); got != want {
			t.Errorf("ago(%v) = %q, want %q", d, got, want)
		}
	}
}
