package task

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"autopilot/sessions/task/internal/record"
)

func (f *finding) readMarkdown(ctx context.Context, repo folder, files []string) {
	if len(files) == 0 {
		f.why = "no file with check boxes is named"
		return
	}
	var without, gone []string
	for _, name := range files {
		if ctx.Err() != nil {
			f.fault(repo.path(name), fmt.Errorf("not read: %w", context.Cause(ctx)))
			return
		}
		data, err := repo.read(name)
		f.Places = append(f.Places, repo.path(name))
		if errors.Is(err, fs.ErrNotExist) {
			gone = append(gone, name)
			continue
		}
		if err != nil {
			f.fault(repo.path(name), err)
			continue
		}
		tasks, err := parseMarkdown(data)
		f.fault(repo.path(name), err)
		f.add(list{tasks: tasks}, word(name), repo.path(name))
		if len(tasks) == 0 {
			without = append(without, name)
		}
	}
	var why []string
	if len(gone) > 0 {
		why = append(why, "not there: "+strings.Join(gone, ", "))
	}
	if len(without) > 0 {
		why = append(why, "without a check box: "+strings.Join(without, ", "))
	}
	f.why = strings.Join(why, "; ")
}

// parseMarkdown reads the items of lists that begin with a check box, nested ones
// too. The id of such a task is "L" and the number of its line.
func parseMarkdown(data []byte) ([]Task, error) {
	var tasks []Task
	var bad record.Flaws
	zero(data, &bad)
	for n, line := range prose(data, &bad) {
		_, item, ok := marked(line)
		if !ok {
			continue
		}
		// A box without text asks for nothing; templates have them.
		if state, text, ok := checkBox(item); ok && oneLine(text) != "" {
			tasks = append(tasks, titled(Task{Status: state}, "L"+strconv.Itoa(n), text))
		}
	}
	return tasks, bad.Err()
}
