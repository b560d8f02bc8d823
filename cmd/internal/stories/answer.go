package stories

import (
	"path/filepath"
	"strings"

	"autopilot/cmd/internal/outside"
	"autopilot/metrics/logs"
	"autopilot/metrics/statedir"
	"autopilot/supervisor/story"
)

// Answer keeps a person's answer for a story of the cohort of the run in a folder, which is
// told of it when the run is continued. Without an id it is for the only story that asks.
func Answer(folder, id, text string) error {
	c, err := Load(folder)
	if err != nil {
		return err
	}
	var asking []string
	for _, m := range c.Members {
		if m.Status == story.Person {
			asking = append(asking, m.ID)
		}
	}
	switch m := c.Find(id); {
	case len(asking) == 0:
		return outside.UsageHint("'autopilot resume' goes on with what is not done", "no story of run %s asks anything", c.RunID)
	case id == "" && len(asking) > 1:
		return outside.UsageHint("autopilot answer STORY TEXT", "several stories ask: %s", strings.Join(asking, ", "))
	case id == "":
		id = asking[0]
	case m == nil:
		return outside.UsageHint("those that ask are "+strings.Join(asking, ", "), "there is no run and no story %s", id)
	case m.Status != story.Person:
		return outside.UsageHint("those that ask are "+strings.Join(asking, ", "), "story %s asks nothing, it is %s", id, m.Status)
	}
	c.Find(id).Answer = logs.Redact(text)
	return statedir.ReplaceJSON(filepath.Join(folder, story.File), c)
}
