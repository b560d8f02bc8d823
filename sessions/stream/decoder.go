package stream

import (
	"errors"
	"time"
)

// ErrClosed is returned when a closed Decoder is written to.
var ErrClosed = errors.New("stream decoder is closed")

// Limits bounds what a Decoder keeps of one line. All are in bytes as they
// stand in the line, escape sequences counted as written. A value below 256,
// zero among them, means the default.
type Limits struct {
	// String is how much is kept of each string. Default 16 KiB.
	String int
	// Line is how much is kept of a line besides the answer; a line beyond it
	// is not decoded. Default 4 MiB.
	Line int
	// Result is how much is kept of the answer: of the text of the top-level
	// key result, which is cut there, and again of the value of
	// structured_output, which is left out if it is longer. Default 8 MiB.
	Result int
}

func (l Limits) withDefaults() Limits {
	const least = 256 // keys, kinds and identifiers must pass whole
	if l.String < least {
		l.String = 16 << 10
	}
	if l.Line < least {
		l.Line = 4 << 20
	}
	if l.Result < least {
		l.Result = 8 << 20
	}
	return l
}

// Stats counts what a Decoder has seen. Lines is the sum of Events, Ignored and
// Torn; lines of white space and terminal control alone are in none of them.
type Stats struct {
	Bytes     int64 `json:"bytes"`     // all bytes written
	Lines     int   `json:"lines"`     // lines with something in them
	Events    int   `json:"events"`    // events passed on
	Ignored   int   `json:"ignored"`   // lines that are not JSON
	Torn      int   `json:"torn"`      // 1 if the last line broke off
	Odd       int   `json:"odd"`       // events with a field of an unexpected type
	Cut       int   `json:"cut"`       // strings shortened in events
	Oversized int   `json:"oversized"` // events without contents: longer than Limits.Line

	// FirstIgnored is the beginning of the first ignored line, at most 200
	// bytes, as it was: it may hold anything, so quote it to show it.
	FirstIgnored string `json:"first_ignored,omitempty"`
}

// An Option changes what New makes.
type Option func(*Decoder)

// WithNow sets the clock that stamps the events. The default is time.Now.
func WithNow(now func() time.Time) Option {
	return func(d *Decoder) { d.now = now }
}

// A Decoder turns bytes into events. Its methods must not be called from two
// goroutines at once.
type Decoder struct {
	emit   func(Event)
	now    func() time.Time
	filter filter
	event  Event // the current one, here to be allocated once
	stats  Stats
	closed bool
}

// New returns a Decoder that calls emit for each event, in order, within the
// call of Write or Close that completes the line. emit must not be nil and must
// not call the Decoder's Write or Close.
func New(limits Limits, emit func(Event), options ...Option) *Decoder {
	if emit == nil {
		panic("stream: New: emit is nil")
	}
	d := &Decoder{emit: emit, now: time.Now, filter: filter{limits: limits.withDefaults()}}
	for _, option := range options {
		option(d)
	}
	return d
}

// Write decodes the next piece of the stream. It takes all of p, keeps no
// reference to it, and returns an error only after Close.
func (d *Decoder) Write(p []byte) (int, error) {
	if d.closed {
		return 0, ErrClosed
	}
	d.stats.Bytes += int64(len(p))
	for rest := p; len(rest) > 0; {
		n, complete := d.filter.feed(rest)
		rest = rest[n:]
		if complete {
			d.endLine(false)
		}
	}
	return len(p), nil
}

// Close decodes a last line that no newline ends, if it is whole. Later calls do
// nothing. It always returns nil.
func (d *Decoder) Close() error {
	if !d.closed {
		d.closed = true
		d.endLine(true)
		d.filter = filter{}
	}
	return nil
}

// Stats returns the counts so far. A line counts once it is complete.
func (d *Decoder) Stats() Stats { return d.stats }

// endLine settles what has become of the current line.
func (d *Decoder) endLine(last bool) {
	f := &d.filter
	defer f.reset()
	switch {
	case f.phase == before && !f.seen:
		return
	case f.phase == before:
		d.ignore()
	case f.over && !last:
		d.event = Event{Oversized: true}
		d.pass()
	case f.phase == after && d.decode():
	case last:
		d.stats.Torn++
	default:
		d.ignore()
	}
	d.stats.Lines++
}

func (d *Decoder) ignore() {
	d.stats.Ignored++
	if d.stats.FirstIgnored == "" {
		d.stats.FirstIgnored = string(d.filter.head)
	}
}

// decode passes the current line on, or reports that it is not JSON.
func (d *Decoder) decode() bool {
	d.event = Event{}
	w := wire{Event: &d.event}
	if !w.unmarshal(d.filter.out) {
		return false
	}
	d.event.Cut = d.filter.cuts
	d.filter.answer.fill(&d.event)
	d.pass()
	return true
}

// pass passes d.event on.
func (d *Decoder) pass() {
	e := &d.event
	e.At, e.Size = d.now(), d.filter.size
	d.stats.Events++
	d.stats.Cut += e.Cut
	if e.Odd != "" {
		d.stats.Odd++
	}
	if e.Oversized {
		d.stats.Oversized++
	}
	d.emit(*e)
}
