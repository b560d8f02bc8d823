package outbox

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"os"
	"regexp"
	"syscall"

	"autopilot/metrics/statedir"
)

// Counts are how many entries an outbox holds.
type Counts struct {
	Waiting int `json:"waiting"`
	Refused int `json:"refused"`
	Broken  int `json:"broken"`
	Dropped int `json:"dropped"` // that had to go because there were too many
}

// firstBytes of an entry hold its id and whether it was refused.
const firstBytes = 128

// Counts counts the entries by their names and first bytes, which is much less work than
// Status. What only shows in the rest of a file it does not see: one in which somebody
// has changed something counts as waiting or refused, and an older update that a kill left
// beside the one that stands for it counts too. It needs no lock and creates nothing.
func (o Outbox) Counts() (Counts, error) {
	ids, strange, err := o.list()
	c := Counts{Broken: len(strange), Dropped: o.dropped()}
	dir, buf := o.path("entries")+"/", make([]byte, firstBytes)
	for _, id := range ids {
		head, err := readHead(dir+id+ending, buf)
		rest, ours := bytes.CutPrefix(head, []byte("{\n  \"id\": \""+id+"\","))
		switch {
		case os.IsNotExist(err): // sent or replaced meanwhile
		case err != nil || !ours:
			c.Broken++
		case bytes.HasPrefix(rest, []byte("\n  \"refused_at\":")):
			c.Refused++
		default:
			c.Waiting++
		}
	}
	return c, err
}

// readHead reads the first bytes of a file into head. It asks the system itself: what package os
// prepares for each file takes longer than the rest.
func readHead(path string, head []byte) ([]byte, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	for err == syscall.EINTR {
		fd, err = syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, err
	}
	n, err := syscall.Read(fd, head)
	for err == syscall.EINTR {
		n, err = syscall.Read(fd, head)
	}
	_ = syscall.Close(fd) // nothing was written
	return head[:max(n, 0)], err
}

type origin struct {
	ID string `json:"id"`
}

// Origin is what tells this outbox from all others, at targets that several tell of
// theirs: letters and digits. It is made when it is asked for first, and stays.
func (o Outbox) Origin() (string, error) {
	var is origin
	good := regexp.MustCompile(`^[0-9a-f]{12}$`)
	load := func() bool {
		return statedir.LoadJSON(o.path("origin.json"), &is) == nil && good.MatchString(is.ID)
	}
	if load() {
		return is.ID, nil
	}
	err := o.locked(func() error {
		if load() {
			return nil
		}
		data := make([]byte, 6)
		if _, err := rand.Read(data); err != nil {
			return err
		}
		is = origin{ID: hex.EncodeToString(data)}
		return statedir.ReplaceJSON(o.path("origin.json"), is)
	})
	return is.ID, err
}
