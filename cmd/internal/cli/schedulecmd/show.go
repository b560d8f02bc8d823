package schedulecmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"autopilot/cmd/internal/nightly"
	"autopilot/cmd/internal/outside"
	"autopilot/supervisor/schedule"
	"autopilot/supervisor/schedule/host"
	"autopilot/supervisor/schedule/unit"
)

// shown is a schedule as 'show' tells of it.
type shown struct {
	row
	History []nightly.Firing `json:"history"` // the latest, oldest first
	Units   []shownUnit      `json:"units"`
}

type shownUnit struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// historyShown is how many of the last times are shown.
const historyShown = 10

func shownOf(ctx context.Context, h host.Host, name string, now time.Time) (shown, error) {
	if _, err := named(h, name); err != nil {
		return shown{}, err
	}
	installed, _ := h.List(ctx)
	for _, i := range installed {
		if i.Entry.Name != name {
			continue
		}
		r, err := rowOf(h, i, now)
		if err != nil {
			return shown{}, err
		}
		s := shown{row: r, Units: []shownUnit{}}
		if s.History, err = nightly.LoadHistory(h.Root, name); err != nil {
			return shown{}, err
		}
		s.History = s.History[max(0, len(s.History)-historyShown):]
		return s, s.addUnits(ctx, h)
	}
	return shown{}, outside.UsageHint("'autopilot schedule list' shows those that are", "there is no schedule %q", name)
}

// addUnits reads what is installed, as it is.
func (s *shown) addUnits(ctx context.Context, h host.Host) error {
	if s.Backend == schedule.Cron {
		table, err := h.Run(ctx, nil, "crontab", "-l")
		for _, f := range unit.OfCrontab(table) {
			if f.Name == s.Name {
				s.Units = append(s.Units, shownUnit{Name: "crontab", Text: strings.Join(f.Lines, "\n") + "\n"})
			}
		}
		return err
	}
	folder := filepath.Join(h.ConfigHome, "systemd", "user")
	if s.Backend == schedule.Launchd {
		folder = filepath.Join(h.Home, "Library", "LaunchAgents")
	}
	for _, name := range unit.Names(s.Name, s.Backend) {
		path := filepath.Join(folder, name)
		text, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // that it is missing was said
		}
		if err != nil {
			return fmt.Errorf("read unit: %w", err)
		}
		s.Units = append(s.Units, shownUnit{Name: path, Text: string(text)})
	}
	return nil
}

func (s shown) text(home string) string {
	var b strings.Builder
	b.WriteString(s.row.text(home))
	fmt.Fprintf(&b, "  overlap %s\n  log    %s\n", s.Overlap, short(nightly.LogFile(s.Logs, s.Name), home))
	if s.EnvFile != "" {
		fmt.Fprintf(&b, "  secrets %s\n", short(s.EnvFile, home))
	}
	b.WriteString("\nenvironment\n")
	for _, kv := range s.Environ {
		fmt.Fprintf(&b, "  %s\n", kv)
	}
	if len(s.History) > 0 {
		b.WriteString("\nlast times\n")
		for _, f := range s.History {
			fmt.Fprintf(&b, "  %s\n", lastWords(f, location(s.Spec)))
		}
	}
	for _, u := range s.Units {
		fmt.Fprintf(&b, "\n%s\n", u.Name)
		for line := range strings.Lines(strings.TrimRight(u.Text, "\n") + "\n") {
			b.WriteString("  " + line)
		}
	}
	return b.String()
}
