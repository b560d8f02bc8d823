package job

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"autopilot/cmd/internal/config"
	"autopilot/metrics/logs"
	"autopilot/metrics/statedir"
)

const (
	setupName    = "setup.json"
	setupVersion = 1
)

// Setup is how a run was started, for one that continues it. Files and
// environment are read anew then; what was typed is not typed again.
type Setup struct {
	Version int            `json:"version"`
	Goals   []string       `json:"goals"`
	Flags   []config.Value `json:"flags"`
	Extra   []string       `json:"extra"`
}

// SaveSetup writes into the folder of a run how it was started.
func (j Job) SaveSetup(folder string) error {
	s := Setup{Version: setupVersion, Goals: redacted(j.Texts()), Extra: redacted(j.Extra)}
	for _, v := range j.Layers[len(j.Layers)-1] {
		if v.Key == "until" || config.Secret(v.Key) {
			continue // the one was for this night, the other may hold a secret
		}
		v.Raw = redacted(v.Raw)
		s.Flags = append(s.Flags, v)
	}
	return statedir.ReplaceJSON(filepath.Join(folder, setupName), s)
}

// redacted takes what looks like a secret out of texts that go to disk.
func redacted(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = logs.Redact(t)
	}
	return out
}

// LoadSetup reads how the run in a folder was started.
func LoadSetup(folder string) (Setup, error) {
	var s Setup
	name := filepath.Join(folder, setupName)
	if err := statedir.LoadJSON(name, &s); err != nil {
		return s, err
	}
	if s.Version != setupVersion {
		return s, fmt.Errorf("read %s: version %d is not known, want %d", name, s.Version, setupVersion)
	}
	return s, nil
}

// lost reports whether a secret was taken out of a text.
func lost(text string) bool { return strings.Contains(text, logs.Redacted) }

// With is the request of a run that continues the one with this setup: what is
// given now stands over what was given then. A setting that held a secret was not
// kept and has to be given again.
func (s Setup) With(r Request) (Request, error) {
	var flags []config.Value
	for _, v := range s.Flags {
		again := slices.ContainsFunc(r.Flags, func(n config.Value) bool { return n.Key == v.Key })
		if slices.ContainsFunc(v.Raw, lost) && !again {
			return r, fmt.Errorf("its --%s held a secret, which is not kept; give it again", v.Key)
		}
		flags = append(flags, v)
	}
	r.Flags = append(flags, r.Flags...)
	r.Words, r.Goals = nil, s.Goals
	if len(r.Extra) == 0 {
		if slices.ContainsFunc(s.Extra, lost) {
			return r, errors.New("what it handed to claude held a secret, which is not kept; give it again behind --")
		}
		r.Extra = s.Extra
	}
	// The person has said what the goals mean; they are not asked again.
	r.Flags = append(r.Flags, config.Value{Key: "proceed-with-time-limit", Raw: []string{"true"}, Origin: "the run that is continued"})
	return r, nil
}
