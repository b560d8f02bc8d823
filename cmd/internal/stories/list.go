package stories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/job"
	"autopilot/cmd/internal/night"
	"autopilot/cmd/internal/outside"
	"autopilot/supervisor/forge"
	"autopilot/supervisor/story"
)

// storyKeys is the form of a file with stories.
const storyKeys = "a story has the keys id, goal or increment, title, after, paths, verify and priority"

const (
	mostIssues = 100
	mostOthers = 50 // issues beside the stories that are asked for
	mostBytes  = 1 << 20
)

// List are the stories that a run was asked for, in the order in which they are begun when
// nothing stands against it. Nothing is changed.
func List(ctx context.Context, std outside.Stdio, j job.Job) (list []story.Story, notes []string, err error) {
	list, notes, err = listed(ctx, std, j)
	if err != nil {
		return nil, nil, err
	}
	if len(list) == 0 {
		if len(notes) > 0 {
			return nil, nil, outside.UsageHint("--issue-authors anyone takes them all the same", "there are no stories to work on: %s", strings.Join(notes, "; "))
		}
		return nil, nil, outside.UsageHint("'autopilot queue add' fills the queue; --stories FILE and --issues LABEL name others", "there are no stories to work on")
	}
	if err := story.Check(list); err != nil {
		return nil, nil, &outside.Error{Code: outside.ExitUsage, Err: err, Way: outside.HintOf(err)}
	}
	return list, notes, nil
}

func listed(ctx context.Context, std outside.Stdio, j job.Job) ([]story.Story, []string, error) {
	s := j.Cfg.Stories
	switch {
	case s.File != "":
		path := s.File
		if !filepath.IsAbs(path) {
			path = filepath.Join(std.Dir, path)
		}
		data, err := readFile(path)
		if err != nil {
			return nil, nil, outside.UsageHint("name a YAML file with --stories FILE", "read stories: %v", err)
		}
		list, err := story.ParseFile(data, s.File)
		if err != nil {
			return nil, nil, &outside.Error{Code: outside.ExitUsage, Err: err, Way: storyKeys}
		}
		return list, nil, nil
	case s.Label != "":
		return fromIssues(ctx, std, j)
	}
	n, err := j.Night(false)
	if err != nil {
		return nil, nil, err
	}
	items, err := n.Listed(false, false)
	if err != nil {
		return nil, nil, err
	}
	return story.FromQueue(items, n.Completed()...), nil, nil
}

// queued puts what a run was asked for into the queue that its stories come from.
func queued(j job.Job, n night.Night) error {
	if j.Cfg.Stories.File != "" || j.Cfg.Stories.Label != "" {
		return nil
	}
	_, err := n.Listed(true, false)
	return err
}

// fromIssues are the open issues with a label. One that waits for an issue which is closed
// waits for nothing.
func fromIssues(ctx context.Context, std outside.Stdio, j job.Job) (list []story.Story, notes []string, err error) {
	f, err := forge.Detect(ctx, j.Repo.Top, std.Environ)
	if err != nil {
		return nil, nil, &outside.Error{Code: outside.ExitUsage, Err: err, Way: outside.HintOf(err)}
	}
	issues, err := f.Issues(ctx, j.Cfg.Stories.Label, mostIssues)
	if _, more := errors.AsType[*forge.MoreError](err); err != nil && !more { // the others are for the next run
		return nil, nil, &outside.Error{Code: outside.ExitUsage, Err: err, Way: outside.HintOf(err)}
	}
	known := map[int]bool{}
	issues = slices.DeleteFunc(issues, func(i forge.Issue) bool {
		stranger := !i.Trusted && j.Cfg.Stories.Authors != config.AuthorsAnyone
		if stranger {
			notes = append(notes, fmt.Sprintf("issue %d is left out: who opened it (%s) is no collaborator", i.Number, cmp.Or(i.Author, "unknown")))
		}
		return stranger
	})
	for _, i := range issues {
		known[i.Number] = true
	}
	var taken []story.Issue
	others := map[int]bool{} // whether those that are no stories are open
	for _, i := range issues {
		var after []int
		for _, n := range i.After {
			if !known[n] {
				open, err := stillOpen(ctx, f, n, others)
				if err != nil {
					return nil, nil, fmt.Errorf("issue %d, which issue %d waits for: %w", n, i.Number, err)
				}
				if !open {
					continue
				}
			}
			after = append(after, n)
		}
		taken = append(taken, story.Issue{
			Number: i.Number, Title: i.Title, Body: i.Body, URL: i.URL, After: after, Priority: i.Priority,
		})
	}
	return story.FromIssues(taken), notes, nil
}

// stillOpen asks whether an issue is open, each once and only so many of them. One that is
// not there, or not asked for any more, counts as open: a person has to look at what waits
// for it.
func stillOpen(ctx context.Context, f forge.Forge, number int, known map[int]bool) (bool, error) {
	if open, ok := known[number]; ok || len(known) >= mostOthers {
		return open || !ok, nil
	}
	open, err := f.IssueOpen(ctx, number)
	if call, ok := errors.AsType[*forge.CallError](err); ok && call.Reason == forge.Missing {
		open, err = true, nil
	}
	known[number] = open
	return open, err
}

// readFile reads a regular file of limited length.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file", path)
	case info.Size() > mostBytes:
		return nil, fmt.Errorf("%s is longer than %d bytes", path, mostBytes)
	}
	return os.ReadFile(path)
}
