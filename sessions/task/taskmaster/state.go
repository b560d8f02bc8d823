package taskmaster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"autopilot/metrics/statedir"
	"autopilot/sessions/task/internal/record"
)

const (
	stateFile = ".taskmaster/state.json"
	stamp     = "2006-01-02T15:04:05.000Z"

	newStateMode fs.FileMode = 0o644 // it is the person's, and may be versioned
)

// CurrentTag is the tag that Task Master works on in a repository: master where its
// state says nothing else.
func CurrentTag(repo string) (string, error) {
	data, _, err := read(repo, stateFile)
	if errors.Is(err, fs.ErrNotExist) {
		return masterTag, nil
	}
	if err != nil {
		return "", fmt.Errorf("read the current tag: %w", err)
	}
	tag, _, err := parseState(data)
	if err != nil {
		return "", fmt.Errorf("read the current tag: %w", err)
	}
	return tag, nil
}

// parseState reads the tag and the members of a state.
func parseState(data text) (string, []field, error) {
	var object map[string]any
	if err := record.Decode(data, &object); err != nil {
		return "", nil, fmt.Errorf("%s %w", stateFile, err)
	}
	if object == nil {
		return "", nil, fmt.Errorf("%s is null", stateFile)
	}
	list, err := fields(data, stateFile, data.begin())
	if err != nil {
		return "", nil, err
	}
	switch tag := object["currentTag"].(type) {
	case nil:
		return masterTag, list, nil
	case string:
		if tag == "" {
			tag = masterTag
		}
		return tag, list, nil
	}
	return "", nil, fmt.Errorf("%s has something else than text for %q", stateFile, "currentTag")
}

// SwitchTag makes a tag the current one. now is written beside it, in UTC with
// milliseconds. Every other byte of the state is as it was, and nothing is written
// when the tag is the current one already. The file is made only where it is missing
// and the tag is not master. from is the tag that was the current one before.
//
// It does not look whether there are tasks under the tag. The error may be ErrChanged,
// when somebody else has written the file in between.
func SwitchTag(repo, tag string, now time.Time) (from string, changed bool, err error) {
	from, changed, err = switchTag(repo, tag, now)
	if err != nil {
		return "", false, fmt.Errorf("switch the tag: %w", err)
	}
	return from, changed, nil
}

func switchTag(repo, tag string, now time.Time) (from string, changed bool, err error) {
	if tag == "" || !utf8.ValidString(tag) {
		return "", false, problem(ErrBadTag, "", "%q is not the name of a tag", short(tag))
	}
	before, _, err := read(repo, stateFile)
	if errors.Is(err, fs.ErrNotExist) {
		if tag == masterTag {
			return masterTag, false, nil
		}
		return masterTag, true, createState(repo, tag, now)
	}
	if err != nil {
		return "", false, err
	}
	from, list, err := parseState(before)
	if err != nil || from == tag {
		return from, false, err
	}
	next, err := switched(before, list, tag, now)
	if err != nil {
		return "", false, err
	}
	return from, true, replace(repo, stateFile, before, next)
}

func switched(data text, list []field, tag string, now time.Time) ([]byte, error) {
	next, err := data.with(span{from: data.begin()}, list, "currentTag", tag)
	if err != nil {
		return nil, fmt.Errorf("%s %w", stateFile, err)
	}
	data = next
	if list, err = fields(data, stateFile, data.begin()); err != nil {
		return nil, err
	}
	next, err = data.with(span{from: data.begin()}, list, "lastSwitched", now.UTC().Format(stamp), "currentTag")
	if err != nil {
		return nil, fmt.Errorf("%s %w", stateFile, err)
	}
	return next, nil
}

func createState(repo, tag string, now time.Time) error {
	raw, err := quoted(tag)
	if err != nil {
		return err
	}
	// The folder may be a link that leads away.
	root, err := os.OpenRoot(repo)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	dir := filepath.Dir(stateFile)
	if info, err := root.Stat(dir); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no folder %s for %s", dir, stateFile)
	}
	data := fmt.Sprintf("{\n  \"currentTag\": %s,\n  \"lastSwitched\": %q,\n  \"branchTagMapping\": {},\n  \"migrationNoticeShown\": false\n}\n", raw, now.UTC().Format(stamp))
	name := filepath.Join(repo, stateFile)
	if err := statedir.Replace(name, []byte(data)); err != nil {
		return err
	}
	return os.Chmod(name, newStateMode)
}
