package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/unit"
)

// timer is what systemd says about the timer of a schedule.
type timer struct {
	enabled, active bool
	next            time.Time
}

func (h Host) systemctl(ctx context.Context, args ...string) error {
	_, err := h.run(ctx, "systemctl", append([]string{"--user"}, args...)...)
	return err
}

func (h Host) timer(ctx context.Context, name string) (timer, error) {
	out, err := h.run(ctx, "systemctl", "--user", "show", unit.TimerName(name), "--property=ActiveState,UnitFileState,NextElapseUSecRealtime")
	if err != nil {
		return timer{}, err
	}
	var t timer
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "ActiveState":
			t.active = value == "active"
		case "UnitFileState":
			t.enabled = value == "enabled"
		case "NextElapseUSecRealtime":
			if at, err := time.Parse("Mon 2006-01-02 15:04:05 MST", value); err == nil {
				t.next = at
			}
		}
	}
	return t, nil
}

// off is what makes a timer that is on what it was before.
func (t timer) off(name string) []string {
	switch {
	case t.enabled:
		return []string{"stop", name}
	case t.active:
		return []string{"disable", name}
	}
	return []string{"disable", "--now", name}
}

// on is what makes a timer that is off what it was before.
func (t timer) on(name string) []string {
	switch {
	case t.enabled && t.active:
		return []string{"enable", "--now", name}
	case t.enabled:
		return []string{"enable", name}
	}
	return []string{"start", name}
}

// timerOn writes the units of an entry and starts its timer.
func (h Host) timerOn(ctx context.Context, c Change, t *transaction) error {
	name := unit.TimerName(c.name)
	before, err := h.timer(ctx, c.name)
	if err != nil {
		return err
	}
	// What is added first is taken back last, when the files are as they were.
	t.onBack("what systemd knows of "+name, func(ctx context.Context) error {
		if err := h.systemctl(ctx, "daemon-reload"); err != nil || !before.active {
			return err
		}
		return h.systemctl(ctx, "restart", name)
	})
	for _, e := range c.put {
		if err := t.edit(e); err != nil {
			return err
		}
	}
	if err := h.systemctl(ctx, "daemon-reload"); err != nil {
		return err
	}
	if !before.enabled || !before.active {
		t.onBack(name, func(ctx context.Context) error { return h.systemctl(ctx, before.off(name)...) })
	}
	if err := h.systemctl(ctx, "enable", "--now", name); err != nil {
		return err
	}
	if before.active { // it may still wait for a time of the old calendar
		if err := h.systemctl(ctx, "restart", name); err != nil {
			return err
		}
	}
	after, err := h.timer(ctx, c.name)
	switch {
	case err != nil:
		return err
	case !after.active:
		return fmt.Errorf("systemd has not started %s", name)
	case after.next.IsZero():
		return &schedule.InvalidError{
			Fact: fmt.Sprintf("systemd finds no time in %s", name),
			Way:  "does this machine have zone files? 'systemd-analyze calendar' tells; otherwise use --backend cron",
		}
	}
	return nil
}

// timerOff stops the timer of a schedule and removes its units. What it has started goes on.
func (h Host) timerOff(ctx context.Context, name string, d takedown, t *transaction) error {
	before, err := h.timer(ctx, name)
	if err != nil {
		return err
	}
	if before.enabled || before.active {
		t.onBack(unit.TimerName(name), func(ctx context.Context) error {
			return errors.Join(h.systemctl(ctx, "daemon-reload"), h.systemctl(ctx, before.on(unit.TimerName(name))...))
		})
		if err := h.systemctl(ctx, "disable", "--now", unit.TimerName(name)); err != nil {
			return err
		}
	}
	for _, e := range d.files {
		if err := t.edit(e); err != nil {
			return err
		}
	}
	return h.systemctl(ctx, "daemon-reload")
}
