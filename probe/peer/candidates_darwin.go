package peer

import (
	"context"

	"autopilot/probe/proctree"
)

// candidates is the first pass; one call to the kernel names every process.
func candidates(ctx context.Context, root string) ([]int, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t, err := proctree.Take(root)
	if err != nil {
		return nil, err
	}
	var found []int
	for p := range t.All() {
		if kindOf(p.Comm) != other {
			found = append(found, p.PID)
		}
	}
	return found, nil
}
