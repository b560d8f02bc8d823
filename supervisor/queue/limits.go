package queue

// DefaultActive is how many increments may be active at once when nobody said so.
func DefaultActive() int { return 3 }

// DefaultPerType is how many increments of a type may be active at once when nobody
// said so.
func DefaultPerType() map[string]int {
	return map[string]int{"feature": 2, "change-request": 2, "refactor": 1}
}

// Estimate is how many sessions an increment with that many tasks is expected to take:
// two for a task, and five at least.
func Estimate(tasks int) int { return max(2*min(tasks, mostCount/2), 5) }
