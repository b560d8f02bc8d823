package board

import (
	"sync"

	"autopilot/cmd/internal/board/lines"
)

// Cache is what is kept from one look to the next, for one state root; for another one it
// is emptied. Its zero value is empty. It may be used by several goroutines, which wait for
// each other.
type Cache struct {
	mu       sync.Mutex
	root     string
	seen     lines.Seen
	waiting  int // folders that nobody owns yet
	lost     []string
	projects []*project
	bySlug   map[string]*project
	byPath   map[string]*project
	version  int // of all projects together
	rows     rowsMemo
	past     pastMemo
	ledgers  map[string]*runLedger
	sessions map[string]*sessionLedger
	details  []*detail // the most recently used last
}

// cache returns the cache of the options, or a new one.
func (o Options) cache() *Cache {
	c := o.Cache
	if c == nil {
		c = &Cache{}
	}
	return c
}

// lockFor locks the cache for a state root.
func (c *Cache) lockFor(root string) {
	c.mu.Lock()
	if c.root == root && c.bySlug != nil {
		return
	}
	c.root, c.seen, c.waiting, c.lost, c.projects = root, lines.Seen{}, 0, nil, nil
	c.bySlug, c.byPath = map[string]*project{}, map[string]*project{}
	c.ledgers, c.sessions = map[string]*runLedger{}, map[string]*sessionLedger{}
	c.rows, c.past, c.details = rowsMemo{}, pastMemo{}, nil
}
