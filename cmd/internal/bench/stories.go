package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	storiesAtOnce = 4
	storiesInAll  = 10
	storyRounds   = 2
	storySession  = 300 * time.Millisecond
)

// stories is how long ten stories take when four are worked on at a time, beside one after
// the other. A session only waits, as one does for its model: four at a time can take a
// quarter of the time at best, and what is more than that is our own work.
func (b *bench) stories() error {
	own := *b
	base := filepath.Join(filepath.Dir(b.repo), "stories")
	own.repo, own.env = filepath.Join(base, "repo"), append(own.env, "GIT_CONFIG_GLOBAL=/dev/null")
	list := filepath.Join(base, "stories.yaml")
	if err := os.MkdirAll(own.repo, 0o700); err != nil {
		return err
	}
	var text strings.Builder
	for i := range storiesInAll {
		fmt.Fprintf(&text, "- {id: s%d, goal: think, verify: ['true']}\n", i)
	}
	session := `report {"planned":["a"],"completed":["a"],"carried_over":[],"summary":"done","next_steps":[],"needs_person":""}` + "\nbare-tool " + storySession.String() + "\nresult\n"
	// On a machine that is busy with others fewer would be begun: they are not what is measured.
	const green = `{"ram_available_gb": 16, "swap_used_gb": 0, "peers": 0, "memory_pressure_pct_free": null}`
	idle := filepath.Join(base, "idle.json")
	for path, text := range map[string]string{list: text.String(), b.script: session, idle: green} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"-c", "user.name=b", "-c", "user.email=b@example.org", "commit", "-q", "--allow-empty", "-m", "start"}} {
		if _, err := own.timed("git", args...); err != nil {
			return err
		}
	}
	var many, one []time.Duration
	for range storyRounds {
		for _, c := range []struct {
			atOnce int
			took   *[]time.Duration
		}{{storiesAtOnce, &many}, {1, &one}} {
			d, err := own.cohort(c.atOnce, list, idle)
			if err != nil {
				return err
			}
			*c.took = append(*c.took, d)
		}
	}
	m, o := slices.Min(many), slices.Min(one)
	b.row(figure{
		what: fmt.Sprintf("%d stories of %v, %d at once", storiesInAll, storySession, storiesAtOnce), value: ms(m), beside: "one after the other", other: ms(o),
		ratio: float64(m) / float64(o), aim: "under 0.50",
	})
	return nil
}

// cohort works on all stories and returns how long that took.
func (b *bench) cohort(atOnce int, list, machine string) (time.Duration, error) {
	cmd := b.command(b.binary, "run", "--multi-story", "--stories", list, "--max-stories", strconv.Itoa(atOnce),
		"--snapshot", machine, "--claude", b.claude, "--allow-nested", "--no-suitability")
	start := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(start)
	if err != nil {
		return 0, fmt.Errorf("stories: %w: %s", err, out)
	}
	if want := fmt.Sprintf("%d stories: %d done", storiesInAll, storiesInAll); !strings.Contains(string(out), want) {
		return 0, fmt.Errorf("stories: want %q: %s", want, out)
	}
	return took, nil
}
