package night

import (
	"fmt"
	"time"

	"autopilot/supervisor/breaker"
)

// Trouble is something of a work tree that does not work as it should.
type Trouble struct {
	What string // queue, gates, outbox, breaker
	Why  string
	Mend string
}

// Look names what is broken or stuck, for a person.
func (n Night) Look(now time.Time) []Trouble {
	var out []Trouble
	if _, err := n.Queue.Load(); err != nil {
		out = append(out, Trouble{"queue", err.Error(), "mend the file, or move it away; the queue is then empty"})
	}
	if _, err := n.Gates.List(now); err != nil {
		out = append(out, Trouble{"gates", err.Error(), "remove the broken file; the call is held again when it is tried"})
	}
	st, err := n.Outbox.Status(now)
	switch {
	case err != nil:
		out = append(out, Trouble{"outbox", err.Error(), "make the folder readable"})
	case st.Broken > 0:
		out = append(out, Trouble{"outbox", fmt.Sprintf("%d entries cannot be read", st.Broken), "'autopilot sync status' names them; then 'sync drop FILE'"})
	case len(st.Refused) > 0:
		out = append(out, Trouble{"outbox", fmt.Sprintf("%d updates were refused: %s", len(st.Refused), st.Refused[0].Why), "'autopilot sync status' shows them; then 'sync retry ID' or 'sync drop ID'"})
	}
	for _, b := range n.Breakers.States(now) {
		if b.Position != breaker.Closed {
			out = append(out, Trouble{"breaker", fmt.Sprintf("%s is %s %s: %s", b.Name, b.Position, b.Reason(), b.Error), "'autopilot breakers reset " + b.Name + "' when it is back"})
		}
	}
	return out
}
