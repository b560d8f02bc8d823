package queue

import "fmt"

// Refusal is an error that names what is wrong, and the way out.
type Refusal struct {
	Why string
	Way string
}

// Error is what is wrong.
func (r *Refusal) Error() string { return r.Why }

// Hint is the way out.
func (r *Refusal) Hint() string { return r.Way }

func refuse(way, format string, args ...any) error {
	return &Refusal{Why: fmt.Sprintf(format, args...), Way: way}
}
