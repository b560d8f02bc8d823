package task

import "slices"

// settle makes one list of all: a task that stands in several counts once, where it
// comes first. It is known then which tasks wait for others, and whose are dead.
func settle(lists []list, living func() []LiveSession) []Task {
	n := 0
	for _, l := range lists {
		n += len(l.tasks)
	}
	m := merger{all: make([]Task, 0, n), from: make([]int, 0, n), bySubject: map[string][]int{}}
	where := make([][]int, len(lists)) // of each task of each list, its place among all
	for k, l := range lists {
		where[k] = m.merge(k, l, len(lists) > 1)
	}
	for k := range lists {
		m.block(k, lists[k], where[k])
	}
	bury(lists, m, living)
	return m.all
}

// merger holds the tasks so far. Those that have the same subject are found by it.
type merger struct {
	all       []Task
	from      []int // the list of each
	bySubject map[string][]int
	taken     [][]int // the lists that have such a task too
}

func (m *merger) merge(k int, l list, several bool) []int {
	where := make([]int, len(l.tasks))
	for i, t := range l.tasks {
		key := ""
		if several {
			key = sameAs(t)
		}
		if at := m.find(key, k); at >= 0 {
			m.taken[at] = append(m.taken[at], k)
			m.all[at].Also = append(m.all[at].Also, t.Source+" "+t.ID+" ("+t.Status+")")
			where[i] = at
			continue
		}
		where[i] = len(m.all)
		m.all, m.from, m.taken = append(m.all, t), append(m.from, k), append(m.taken, nil)
		if key != "" {
			m.bySubject[key] = append(m.bySubject[key], where[i])
		}
	}
	return where
}

// find looks for a task of another list with this subject, which no other task of
// list k is the same as already.
func (m *merger) find(key string, k int) int {
	if key == "" {
		return -1
	}
	for _, at := range m.bySubject[key] {
		if m.from[at] != k && !slices.Contains(m.taken[at], k) {
			return at
		}
	}
	return -1
}

// block marks the tasks that wait for another one of their list. It does not matter
// for what that one waits, so a ring blocks itself and nothing else happens.
func (m *merger) block(k int, l list, where []int) {
	if !slices.ContainsFunc(l.tasks, func(t Task) bool { return len(t.BlockedBy) > 0 }) {
		return
	}
	open := map[string]bool{}
	for i, t := range l.tasks {
		if now := m.all[where[i]]; !now.Terminal() || now.Failed() {
			open[t.ID] = true
		}
	}
	for _, at := range where {
		if kept := &m.all[at]; m.from[at] == k {
			kept.Blocked = slices.ContainsFunc(kept.BlockedBy, func(id string) bool { return open[id] })
		}
	}
}

// bury marks the tasks in progress that nobody works on any more.
func bury(lists []list, m merger, living func() []LiveSession) {
	var alive map[string]bool
	for i := range m.all {
		t := &m.all[i]
		if !t.InProgress() {
			continue
		}
		whose := lists[m.from[i]].session
		if whose == "" && sessionLike(t.Owner) {
			whose = t.Owner
		}
		if whose == "" {
			continue
		}
		if alive == nil {
			alive = map[string]bool{}
			for _, s := range living() {
				alive[s.ID] = true
			}
		}
		t.Dead = !alive[whose]
	}
}

// sessionLike reports the form of a session's id: groups of 8, 4, 4, 4 and 12
// hexadecimal digits.
func sessionLike(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c < '0' || c > '9' && c < 'A' || c > 'F' && c < 'a' || c > 'f':
			return false
		}
	}
	return true
}
