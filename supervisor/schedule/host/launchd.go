package host

import (
	"context"
	"strings"

	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/unit"
)

// agent asks launchd about the agent of a schedule.
func (h Host) agent(ctx context.Context, name string) (loaded, running bool) {
	out, err := h.run(ctx, "launchctl", "print", h.domain(ctx)+"/"+unit.Label(name))
	if err != nil {
		return false, false
	}
	for line := range strings.Lines(string(out)) {
		if strings.TrimSpace(line) == "state = running" {
			return true, true
		}
	}
	return true, false
}

// agentOn writes the list of an entry and loads it in place of the old one.
func (h Host) agentOn(ctx context.Context, c Change, t *transaction) error {
	domain := h.domain(ctx)
	label := domain + "/" + unit.Label(c.name)
	if loaded, _ := h.agent(ctx, c.name); loaded {
		t.onBack(label, func(ctx context.Context) error { return h.loadAgain(ctx, c.name, c.put[0].path) })
		if _, err := h.run(ctx, "launchctl", "bootout", label); err != nil {
			return err
		}
	}
	for _, e := range c.put {
		if err := t.edit(e); err != nil {
			return err
		}
	}
	if _, err := h.run(ctx, "launchctl", "enable", label); err != nil {
		return err
	}
	if err := h.bootstrap(ctx, c.put[0].path); err != nil {
		return err
	}
	t.onBack(label, func(ctx context.Context) error {
		_, err := h.run(ctx, "launchctl", "bootout", label)
		return err
	})
	return nil
}

// agentOff unloads the agent of a schedule and removes its list.
func (h Host) agentOff(ctx context.Context, name string, d takedown, t *transaction) error {
	label := h.domain(ctx) + "/" + unit.Label(name)
	if loaded, _ := h.agent(ctx, name); loaded {
		t.onBack(label, func(ctx context.Context) error { return h.loadAgain(ctx, name, d.files[0].path) })
		if _, err := h.run(ctx, "launchctl", "bootout", label); err != nil {
			return err
		}
	}
	for _, e := range d.files {
		if err := t.edit(e); err != nil {
			return err
		}
	}
	return nil
}

func (h Host) bootstrap(ctx context.Context, path string) error {
	_, err := h.run(ctx, "launchctl", "bootstrap", h.domain(ctx), path)
	return err
}

// loadAgain takes an unloading back, also one that did not happen.
func (h Host) loadAgain(ctx context.Context, name, path string) error {
	if loaded, _ := h.agent(ctx, name); loaded {
		return nil
	}
	return h.bootstrap(ctx, path)
}

// label is what launchctl calls the agent of an entry.
func (h Host) label(ctx context.Context, e schedule.Entry) string {
	return h.domain(ctx) + "/" + unit.Label(e.Name)
}
