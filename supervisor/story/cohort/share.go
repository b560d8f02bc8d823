package cohort

import (
	"time"

	"autopilot/metrics/logs"
	"autopilot/probe/tier"
	"autopilot/supervisor/story"
)

// shares is what each running story may use now.
func (l *loop) shares() map[string]Share {
	out := map[string]Share{}
	critical := l.c.Tier == string(tier.Critical)
	list := story.Shares(l.c, l.c.Cap, critical)
	for _, s := range list {
		share := Share{Tier: l.c.Tier, Cap: s.Cap, Hold: s.Hold, Among: len(list), Snapshot: l.snapshot}
		if s.Hold {
			share.HoldWhy = "the machine is critical and another story is at work"
		}
		if stop := l.c.Stop; stop != nil {
			share.Stop, share.Aborted = "the cohort ends: "+stop.Reason+": "+stop.Detail, stop.Aborted
		}
		out[s.ID] = share
	}
	return out
}

// give hands out the shares that have changed, and all of them from time to time.
func (l *loop) give(now time.Time) {
	anew := now.Sub(l.givenAt) > giveAnew
	if anew {
		l.givenAt = now
	}
	shares := l.shares()
	for i := range l.c.Members {
		m := &l.c.Members[i]
		s, due := shares[m.ID]
		if !due || l.running[m.ID] == nil {
			continue
		}
		if anew || l.differs(l.given[m.ID], s) {
			l.giveTo(m, s, now)
		}
	}
}

func (l *loop) differs(a, b Share) bool {
	return a.Tier != b.Tier || a.Cap != b.Cap || a.Hold != b.Hold || a.Stop != b.Stop || a.Among != b.Among || !a.Snapshot.TakenAt.Equal(b.Snapshot.TakenAt)
}

func (l *loop) giveTo(m *story.Member, s Share, _ time.Time) {
	s.Member = *m
	if err := l.Give(s); err != nil {
		l.Log.Warn("a story could not be told its share", "story", m.ID, "err", logs.Redact(err.Error()))
		return
	}
	l.given[m.ID] = s
}
