package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"autopilot/metrics/statedir"
	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/unit"
)

const (
	lockTime = 30 * time.Second
	undoTime = 2 * time.Minute
)

// Apply makes a change, or none of it. It waits up to half a minute for another one.
func (h Host) Apply(ctx context.Context, c Change) error {
	if c.name == "" || c.Empty() {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	lock, err := statedir.Acquire(waiting, filepath.Join(h.Root, "schedules", "install.lock"), statedir.Holder{})
	if held, ok := errors.AsType[*statedir.HeldError](err); ok {
		return fmt.Errorf("schedules are being changed by %v", held.Holder)
	}
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }() // the kernel does it otherwise

	t := &transaction{}
	if err := h.apply(ctx, c, t); err != nil {
		return t.back(ctx, err)
	}
	return nil
}

// Remove plans to take a schedule away and does it.
func (h Host) Remove(ctx context.Context, name string) error {
	c, err := h.PlanRemoval(ctx, name)
	if err != nil {
		return err
	}
	return h.Apply(ctx, c)
}

func (h Host) apply(ctx context.Context, c Change, t *transaction) error {
	if err := h.unchanged(ctx, c); err != nil {
		return err
	}
	if c.entry != nil {
		if err := t.edit(c.record); err != nil {
			return err
		}
		if err := statedir.MakeDir(c.entry.Logs); err != nil {
			return err
		}
		if err := h.switchOn(ctx, c, t); err != nil {
			return err
		}
	}
	for _, d := range c.down {
		if err := h.takeDown(ctx, c.name, d, t); err != nil {
			return err
		}
	}
	if c.table != nil {
		if err := h.editTable(ctx, c, t); err != nil {
			return err
		}
	}
	if c.entry == nil {
		return t.edit(c.record)
	}
	return nil
}

// unchanged compares what is there with what was there when the change was planned.
func (h Host) unchanged(ctx context.Context, c Change) error {
	for _, e := range c.edits() {
		if c.table != nil && e.path == c.table.path {
			continue // compared where it is written, and by our own lines alone
		}
		now, err := read(e.path)
		if err != nil {
			return err
		}
		if !(edit{old: e.old, new: now}).nothing() {
			return &ChangedError{What: e.path}
		}
	}
	return h.idle(ctx, c)
}

func (h Host) switchOn(ctx context.Context, c Change, t *transaction) error {
	switch c.up {
	case schedule.Systemd:
		return h.timerOn(ctx, c, t)
	case schedule.Launchd:
		return h.agentOn(ctx, c, t)
	}
	return nil
}

func (h Host) takeDown(ctx context.Context, name string, d takedown, t *transaction) error {
	if d.backend == schedule.Systemd {
		return h.timerOff(ctx, name, d, t)
	}
	return h.agentOff(ctx, name, d, t)
}

// editTable changes our lines of the crontab as it is now, not as it was when that was planned.
func (h Host) editTable(ctx context.Context, c Change, t *transaction) error {
	now, err := h.readCrontab(ctx)
	if err != nil {
		return fmt.Errorf("read the crontab: %w", err)
	}
	old := ours(now, c.name)
	if !slices.Equal(old, ours(c.table.old, c.name)) {
		return &ChangedError{What: "the part of " + c.name + " in the crontab"}
	}
	block := ours(c.table.new, c.name)
	next := unit.Splice(now, c.name, block)
	t.onBack("the crontab", func(ctx context.Context) error {
		current, err := h.readCrontab(ctx)
		if err != nil {
			return fmt.Errorf("read the crontab: %w", err)
		}
		if bytes.Equal(current, next) {
			return h.writeTable(ctx, now, c.name, old)
		}
		return h.writeTable(ctx, unit.Splice(current, c.name, old), c.name, old)
	})
	return h.writeTable(ctx, next, c.name, block)
}

// writeTable installs a crontab, and looks whether a schedule has its lines in it then.
func (h Host) writeTable(ctx context.Context, text []byte, name string, block []string) error {
	if _, err := h.Run(ctx, text, crontabName, "-"); err != nil {
		return fmt.Errorf("write the crontab: %w", err)
	}
	after, err := h.readCrontab(ctx)
	if err != nil {
		return fmt.Errorf("read the crontab again: %w", err)
	}
	if !slices.Equal(ours(after, name), block) {
		return &ChangedError{What: "the " + crontabName}
	}
	return nil
}

func ours(table []byte, name string) []string {
	for _, f := range unit.OfCrontab(table) {
		if f.Name == name {
			return f.Lines
		}
	}
	return nil
}

// transaction remembers how to take back what was done.
type transaction struct {
	steps []step
}

type step struct {
	what string
	back func(context.Context) error
}

// onBack adds what has to be done to take a step back, before the step is made.
func (t *transaction) onBack(what string, back func(context.Context) error) {
	t.steps = append(t.steps, step{what, back})
}

// edit makes a file what it should be.
func (t *transaction) edit(e edit) error {
	if e.nothing() {
		return nil
	}
	t.onBack(e.path, func(context.Context) error { return write(e.path, e.old) })
	return write(e.path, e.new)
}

// back takes everything back, the latest first, also when ctx has ended.
func (t *transaction) back(ctx context.Context, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	var left []string
	for _, s := range slices.Backward(t.steps) {
		if err := s.back(ctx); err != nil {
			left = append(left, fmt.Sprintf("%s (%v)", s.what, err))
		}
	}
	if len(left) > 0 {
		return &LeftError{Err: why, Left: left}
	}
	return why
}
