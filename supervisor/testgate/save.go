package testgate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"autopilot/metrics/statedir"
)

const (
	// Folder is where reports are saved, below the folder that Save is given.
	Folder = "test-results"

	timeForm = "20060102T150405.000Z"
	maxSame  = 1000 // reports of one millisecond
)

// Save writes the report to dir/test-results/<time>.json, where the time is in UTC, and
// returns the file. Names sort by time. A crash leaves the whole report or none; an
// earlier one is never replaced. Two processes must not save into one folder at once. A
// full disk is a *statedir.FullError.
func (r Report) Save(dir string, now time.Time) (path string, err error) {
	folder := filepath.Join(dir, Folder)
	if err := statedir.MakeDir(folder); err != nil {
		return "", fmt.Errorf("save test results: %w", err)
	}
	stem := filepath.Join(folder, now.UTC().Format(timeForm))
	for n := 1; n <= maxSame; n++ {
		path = stem + ".json"
		if n > 1 {
			path = fmt.Sprintf("%s_%d.json", stem, n)
		}
		_, err := os.Lstat(path)
		if err == nil {
			continue
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("save test results: %w", err)
		}
		if err := statedir.ReplaceJSON(path, r); err != nil {
			return "", fmt.Errorf("save test results: %w", err)
		}
		return path, nil
	}
	return "", fmt.Errorf("save test results: there are %d reports of %s already", maxSame, filepath.Base(stem))
}
