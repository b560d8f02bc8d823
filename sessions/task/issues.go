package task

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"autopilot/sessions/prompt"
	"autopilot/sessions/task/internal/record"
)

const (
	issueCommand = "gh issue list"
	mostIssues   = 200
	issueFields  = "number,title,state,assignees,labels"
)

func (f *finding) readIssues(ctx context.Context, p Place) {
	if p.GH == nil {
		f.why = "the network is not asked here"
		return
	}
	f.Places = append(f.Places, issueCommand)
	data, err := askIssues(ctx, p, issueFields+",stateReason")
	if err != nil && strings.Contains(err.Error(), "stateReason") { // gh is too old to know it
		data, err = askIssues(ctx, p, issueFields)
	}
	if err != nil {
		f.fault(issueCommand, err)
		return
	}
	tasks, err := parseIssues(data)
	f.fault(issueCommand, err)
	if len(tasks) >= mostIssues {
		f.fault(issueCommand, fmt.Errorf("there may be more than the %d issues that it gave", mostIssues))
	}
	f.add(list{tasks: tasks}, "", "")
	f.why = "the repository has no issues"
}

// askIssues runs gh. Its words are part of the error.
func askIssues(ctx context.Context, p Place, fields string) ([]byte, error) {
	data, err := p.GH(ctx, "issue", "list", "--state", "all", "--limit", fmt.Sprint(mostIssues), "--json", fields)
	if err == nil {
		return data, nil
	}
	said := err.Error()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		said += ": " + string(e.Stderr)
	}
	return nil, errors.New(prompt.Cut(oneLine(said), longestSubject))
}

// parseIssues reads what gh prints: an array of issues.
func parseIssues(data []byte) ([]Task, error) {
	array, err := record.Array(data, "issues")
	if err != nil {
		return nil, err
	}
	type issue struct {
		Number    record.Text `json:"number"`
		Title     record.Text `json:"title"`
		State     record.Text `json:"state"`
		Reason    record.Text `json:"stateReason"`
		Assignees []struct {
			Login string `json:"login"`
		} `json:"assignees"`
	}
	var tasks []Task
	var bad record.Flaws
	record.Elements(array, &bad, func(i int, e issue) {
		id := firstOf(e.Number)
		if id == "" {
			bad.Add(fmt.Errorf("entry %d: has no number", i))
			return
		}
		var owners []string
		for _, a := range e.Assignees {
			owners = append(owners, a.Login)
		}
		t := Task{Status: issueStatus(status(e.State), firstOf(e.Reason)), Owner: word(strings.Join(owners, ", "))}
		tasks = append(tasks, named(t, id, e.Title))
	})
	return tasks, bad.Err()
}

func issueStatus(state, reason string) string {
	switch {
	case strings.EqualFold(state, "open"):
		return "pending"
	case !strings.EqualFold(state, "closed"):
		return state
	case strings.EqualFold(reason, "not_planned"):
		return "cancelled"
	}
	return "completed"
}
