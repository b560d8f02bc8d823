package notice

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	maxAlso   = 5
	maxSeen   = 500
	seenFor   = 7 * 24 * time.Hour
	hourlyFor = time.Hour
)

// Rules bound what one channel is sent.
type Rules struct {
	Interval time.Duration // least time between two of a kind; 0 is no limit
	Hourly   int           // at most so many within an hour; 0 is no limit
}

// Limiter is what is known of the notices to one channel. Its zero value has sent
// nothing.
type Limiter struct {
	Last map[Kind]time.Time   `json:"last,omitempty"` // when one of the kind was given out
	Sent []time.Time          `json:"sent,omitempty"` // within the last hour
	Seen map[string]time.Time `json:"seen,omitempty"` // keys of notices
	Held map[Kind]Held        `json:"held,omitempty"`
}

// Decision is what becomes of a notice.
type Decision string

// Decisions of a limiter.
const (
	Send Decision = "send" // now
	Hold Decision = "hold" // it is kept and summed up; Due gives it out
	Drop Decision = "drop" // its key was there before
)

// Offer decides about a notice and notes the decision. A trial is sent, whatever was sent
// before, and counts for nothing.
func (l *Limiter) Offer(r Rules, n Notice, now time.Time) Decision {
	if n.Kind == Trial {
		return Send
	}
	l.forget(now)
	if n.Key != "" {
		key := n.RunID + " " + n.Key
		if _, again := l.Seen[key]; again {
			return Drop
		}
		if l.Seen == nil {
			l.Seen = map[string]time.Time{}
		}
		l.Seen[key] = now
	}
	_, waits := l.Held[n.Kind]
	if waits || !l.free(r, n.Kind, now) {
		l.hold(n)
		return Hold
	}
	l.sent(n.Kind, now)
	return Send
}

// hold keeps a notice; of those of its kind that were held it becomes the first.
func (l *Limiter) hold(n Notice) {
	h, waits := l.Held[n.Kind]
	if waits {
		h.More++
		h.Also = append(h.Also, h.Notice.Title)
		h.Also = slices.Clone(h.Also[max(0, len(h.Also)-maxAlso):])
	}
	h.Notice = n.Clean() // it may be written down
	if l.Held == nil {
		l.Held = map[Kind]Held{}
	}
	l.Held[n.Kind] = h
}

// Due takes out what is held and may be sent now. At the end of a process, when nobody
// is there to wait for the interval, it takes out everything but what is not urgent and
// over the limit for an hour.
func (l *Limiter) Due(r Rules, now time.Time, end bool) []Held {
	l.forget(now)
	var out []Held
	for _, k := range slices.SortedFunc(maps.Keys(l.Held), byUrgency) {
		if !l.free(r, k, now) && !(end && (k.Urgent() || l.room(r))) {
			continue
		}
		out = append(out, l.Held[k])
		delete(l.Held, k)
		l.sent(k, now)
	}
	return out
}

// Next is when Due has to be called again, and false when nothing is held.
func (l *Limiter) Next(r Rules, now time.Time) (time.Time, bool) {
	var next time.Time
	for k := range l.Held {
		at := now
		if last, ok := l.Last[k]; ok {
			at = last.Add(r.Interval)
		}
		if r.Hourly > 0 && len(l.Sent) >= r.Hourly {
			// So many have to be forgotten until one more may be sent.
			at = later(at, l.Sent[len(l.Sent)-r.Hourly].Add(hourlyFor))
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next, len(l.Held) > 0
}

// free reports whether one of a kind may be sent.
func (l *Limiter) free(r Rules, k Kind, now time.Time) bool {
	last, before := l.Last[k]
	return l.room(r) && (!before || now.Sub(last) >= r.Interval)
}

func (l *Limiter) room(r Rules) bool { return r.Hourly <= 0 || len(l.Sent) < r.Hourly }

func (l *Limiter) sent(k Kind, now time.Time) {
	if l.Last == nil {
		l.Last = map[Kind]time.Time{}
	}
	l.Last[k] = now
	l.Sent = append(l.Sent, now)
}

// forget drops what no decision depends on any more, and moments that are still to come:
// the clock has been set back since.
func (l *Limiter) forget(now time.Time) {
	l.Sent = slices.DeleteFunc(l.Sent, func(t time.Time) bool { return t.After(now) || now.Sub(t) >= hourlyFor })
	maps.DeleteFunc(l.Last, func(_ Kind, t time.Time) bool { return t.After(now) })
	maps.DeleteFunc(l.Seen, func(_ string, t time.Time) bool { return now.Sub(t) > seenFor })
	if len(l.Seen) < maxSeen {
		return
	}
	oldest := slices.SortedFunc(maps.Keys(l.Seen), func(a, b string) int { return l.Seen[a].Compare(l.Seen[b]) })
	for _, k := range oldest[:len(oldest)-maxSeen/2] {
		delete(l.Seen, k)
	}
}

// byUrgency orders kinds as Kinds does; what is none of them comes last.
func byUrgency(a, b Kind) int { return cmp.Or(rank(a)-rank(b), strings.Compare(string(a), string(b))) }

func rank(k Kind) int {
	if i := slices.Index(Kinds(), k); i >= 0 {
		return i
	}
	return len(Kinds())
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
