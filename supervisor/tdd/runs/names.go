package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

const (
	stateName    = "state.json"
	activityName = "activity.jsonl"
	manifestName = "manifest.json"
	commitsName  = "commits.txt"
	reportName   = "report.txt"
	resultsName  = "test-results"
	pointerName  = "current-run.json"

	tagLimit    = 60 // bytes of a tag in a name
	taskLimit   = 40
	resultLimit = 80
	idLimit     = 160
	stampLayout = "2006-01-02T15-04-05.000Z" // the point is a hyphen in names
	stampBytes  = len(stampLayout)
)

// ID is the name of a run that begins now: <tag>__task-<id>__<time>, where the time is
// in UTC, with milliseconds, and with hyphens for ":" and ".". A tag or a task id that
// is no safe name for a folder is changed to one, cut, and ends in eight hex digits of
// its SHA-256 then.
func ID(tag, taskID string, now time.Time) string {
	stamp := strings.Replace(now.UTC().Format(stampLayout), ".", "-", 1)
	return fmt.Sprintf("%s__task-%s__%s", safe(tag, tagLimit), safe(taskID, taskLimit), stamp)
}

// safe makes a name of one folder or file from any text.
func safe(text string, limit int) string {
	name := strings.Map(func(r rune) rune {
		if plain(r) {
			return r
		}
		return '-'
	}, text)
	name = strings.ReplaceAll(name, "..", "--")
	if strings.HasPrefix(name, ".") {
		name = "-" + name[1:]
	}
	if name == text && name != "" && len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(text))
	suffix := "-" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), limit-len(suffix))] + suffix
}

func plain(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '.' || r == '_' || r == '-'
}

// began returns the time in the name of a run, in the form that sorts, and whether the
// name is one of a run at all: what ID makes, and nothing that leads elsewhere.
func began(id string) (stamp string, ok bool) {
	at := strings.LastIndex(id, "__")
	if len(id) > idLimit || at < 1 || id[0] == '.' || strings.ContainsFunc(id, func(r rune) bool { return !plain(r) }) {
		return "", false
	}
	stamp = id[at+2:]
	if len(stamp) != stampBytes || stamp[19] != '-' {
		return "", false
	}
	if _, err := time.Parse(stampLayout, stamp[:19]+"."+stamp[20:]); err != nil {
		return "", false
	}
	return stamp, true
}

// Folder is the folder of a run. It may not exist. For what cannot be the name of a
// run it is the folder of all runs.
func (s Store) Folder(id string) string {
	if _, ok := began(id); !ok {
		return filepath.Join(s.Dir, "runs")
	}
	return filepath.Join(s.Dir, "runs", id)
}

func (s Store) file(id, name string) string { return filepath.Join(s.Folder(id), name) }

func (s Store) pointerFile() string { return filepath.Join(s.Dir, pointerName) }

func (s Store) tagFile(tag string) string {
	return filepath.Join(s.Dir, "tags", safe(tag, tagLimit), pointerName)
}

func (s Store) resultsFile(id, name string) string {
	return filepath.Join(s.Folder(id), resultsName, safe(name, resultLimit)+".json")
}
