package night

import (
	"errors"
	"time"

	"autopilot/sessions/approval"
	"autopilot/supervisor/queue"
)

// cancelled is why something of a run that a person has cancelled is over.
const cancelled = "the run was cancelled"

// GiveUp ends what waits of a run that was cancelled: calls that are held are denied, and
// the item that was begun waits again. It says what it did, a line each; an error says what
// it could not do beside that.
func (n Night) GiveUp(by string, now time.Time) (done []string, err error) {
	gates, bad := n.Gates.List(now)
	for _, g := range gates {
		if g.Status != approval.Pending {
			continue
		}
		if _, err := n.Gates.Deny(g.ID, by, cancelled, now); err != nil {
			bad = errors.Join(bad, err)
			continue
		}
		done = append(done, g.ID+" is denied")
	}
	q, err := n.Queue.Load()
	if err != nil || q.Summary(nil).InProgress == 0 {
		return done, errors.Join(bad, Refusal(err))
	}
	var again []string
	err = n.Queue.Update(func(q *queue.Queue) error {
		again = nil
		for _, it := range q.Items {
			if it.Status != queue.InProgress {
				continue
			}
			if err := errors.Join(q.Skip(it.ID, cancelled, now), q.Retry(it.ID, now)); err != nil {
				return err
			}
			again = append(again, it.ID+" waits again")
		}
		return nil
	})
	return append(done, again...), errors.Join(bad, Refusal(err))
}
