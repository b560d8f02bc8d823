package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/unit"
)

const wishAge = 5 * time.Minute // a wish to start now that nobody took in time is forgotten

func wishFile(root, name string) string {
	return filepath.Join(filepath.Dir(EntryFile(root, name)), "now")
}

// RunNow starts a schedule now, in the way that it is started at its time, and does not wait for it.
// What is started finds the wish with TakeRunNow. It reports false when there is nothing that
// could start it, as with cron: then the caller has to.
func (h Host) RunNow(ctx context.Context, name string) (started bool, err error) {
	e, err := h.Load(name)
	if err != nil {
		return false, err
	}
	wish := wishFile(h.Root, name)
	if err := statedir.Replace(wish, []byte(time.Now().UTC().Format(time.RFC3339Nano)+"\n")); err != nil {
		return false, err
	}
	switch e.Backend {
	case schedule.Systemd:
		err = h.systemctl(ctx, "start", "--no-block", unit.ServiceName(name))
	case schedule.Launchd:
		_, err = h.run(ctx, "launchctl", "kickstart", h.label(ctx, e))
	default:
		return false, nil
	}
	if err != nil {
		return false, errors.Join(fmt.Errorf("start schedule %s: %w", name, err), write(wish, nil))
	}
	return true, nil
}

// TakeRunNow reports whether a person has wished for this schedule to start now, in the five minutes
// before now. A wish is taken once, by one process.
func TakeRunNow(root, name string, now time.Time) (bool, error) {
	wish := wishFile(root, name)
	text, err := os.ReadFile(wish)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for a wish to start %s now: %w", name, err)
	}
	// Removing it is what only one of several can do.
	err = os.Remove(wish)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("take the wish to start %s now: %w", name, err)
	}
	at, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(string(text)))
	if err != nil {
		return false, nil // not written by us
	}
	age := now.Sub(at)
	return age > -wishAge && age < wishAge, nil
}
