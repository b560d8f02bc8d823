package job

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/outside"
	"autopilot/sessions/completion"
)

// settingsFiles are the files of Claude Code in which a block claudeFlow.autopilot is
// read, the later over the earlier.
func settingsFiles() []string {
	return []string{".claude/settings.json", ".claude/settings.local.json"}
}

// completionDefaults are the limits of persistent completion that hold when nobody has
// changed them by command: those of the block claudeFlow.autopilot in Claude Code's
// settings of this repository, and the task sources of our own settings where those
// name some.
func (p Place) completionDefaults() (completion.Settings, error) {
	s := completion.Settings{
		MaxIterations: completion.UsualIterations, TimeoutMinutes: completion.UsualMinutes, Criteria: completion.AllDone, TaskSources: p.Cfg.TaskSources,
	}
	chosen := slices.ContainsFunc(p.Cfg.Settings, func(s config.Setting) bool { return s.Key == "task-sources" && s.Origin != "default" })
	for _, name := range settingsFiles() {
		if p.Bare {
			break
		}
		if err := readBlock(filepath.Join(p.Repo.Top, filepath.FromSlash(name)), &s); err != nil {
			return s, &outside.Error{Code: outside.ExitUsage, Err: fmt.Errorf("claudeFlow.autopilot in %s: %w", name, err)}
		}
	}
	if chosen {
		s.TaskSources = p.Cfg.TaskSources
	}
	return s, nil
}

// readBlock reads the block of one file over the settings. A file without it, or that
// is no JSON, has none: Claude Code passes over such a file as well.
func readBlock(path string, s *completion.Settings) error {
	var file struct {
		ClaudeFlow struct {
			Autopilot json.RawMessage `json:"autopilot"`
		} `json:"claudeFlow"`
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil // Claude Code would not read it either
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && !bytes.Contains(data, []byte("claudeFlow")):
		return nil
	case err != nil:
		return err
	}
	if json.Unmarshal(data, &file) != nil || file.ClaudeFlow.Autopilot == nil {
		return nil
	}
	if err := json.Unmarshal(file.ClaudeFlow.Autopilot, s); err != nil {
		return err
	}
	return s.Check()
}
