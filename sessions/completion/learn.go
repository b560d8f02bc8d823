package completion

import (
	"context"
	"errors"
	"strings"
	"time"

	"autopilot/metrics/episode"
	"autopilot/sessions/task"
)

const (
	askedEpisodes = 10 // from which advice is drawn
	askedTasks    = 3  // of which the question consists
	usualMatches  = 10
)

// recall finds episodes; none when there is no memory.
func (d Desk) recall(query string, n int) ([]episode.Match, error) {
	if d.Episodes == "" || strings.TrimSpace(query) == "" {
		return nil, nil
	}
	return episode.Open(d.Episodes, episode.Options{Keep: d.Cap}).Recall(query, n)
}

// advice is what earlier episodes say about the tasks that remain.
func (d Desk) advice(tasks []task.Task, criteria string) (episode.Advice, error) {
	open := tally(tasks, criteria).open
	var subjects []string
	for _, t := range open[:min(askedTasks, len(open))] {
		subjects = append(subjects, line(t.Subject, subjectRunes))
	}
	matches, err := d.recall(strings.Join(subjects, " "), askedEpisodes)
	return episode.Advise(matches), err
}

// lessons are what goes into the prompt. Without them everything works the same.
func (d Desk) lessons(tasks []task.Task, criteria string) ([]string, float64) {
	a, err := d.advice(tasks, criteria)
	if err != nil {
		return nil, 0
	}
	var out []string
	for _, r := range a.Recommendations[:min(shownLessons, len(a.Recommendations))] {
		out = append(out, line(r, lessonRunes))
	}
	return out, a.Confidence
}

// Context is all that an agent that is sent on is told.
func (d Desk) Context(ctx context.Context) (ReEngagement, error) {
	s, err := d.current(time.Now())
	if err != nil {
		return ReEngagement{}, err
	}
	found, err := d.discover(ctx, s)
	if err != nil {
		return ReEngagement{}, err
	}
	c := tally(found.Tasks, s.Criteria)
	a, err := d.advice(found.Tasks, s.Criteria)
	return ReEngagement{
		Advice: a, RemainingTasks: values(c.open), CompletedTasks: c.completed, TotalTasks: c.total, ProgressPercent: c.percent(),
	}, err
}

// Learn sums up all episodes.
func (d Desk) Learn() (episode.Learned, error) {
	if d.Episodes == "" {
		return episode.Learned{Patterns: []episode.Pattern{}, FailurePatterns: []episode.Pattern{}, Recommendations: []string{}}, nil
	}
	return episode.Open(d.Episodes, episode.Options{Keep: d.Cap}).Learn()
}

// History finds episodes that are like the query, the nearest first; 10 when limit
// is 0.
func (d Desk) History(query string, limit int) ([]episode.Match, error) {
	switch {
	case strings.TrimSpace(query) == "":
		return nil, errors.New("the query is empty")
	case limit < 0:
		return nil, errors.New("limit is negative")
	case limit == 0:
		limit = usualMatches
	}
	matches, err := d.recall(query, limit)
	return append([]episode.Match{}, matches...), err
}

// Predict says which task to take up next. It is one that waits for no other, when
// there is one.
func (d Desk) Predict(ctx context.Context) (episode.Prediction, error) {
	s, err := d.current(time.Now())
	if err != nil {
		return episode.Prediction{}, err
	}
	found, err := d.discover(ctx, s)
	if err != nil {
		return episode.Prediction{}, err
	}
	open := tally(found.Tasks, s.Criteria).open
	var subjects []string
	for _, t := range open {
		if !t.Blocked || len(subjects) == 0 && open[0].Blocked {
			subjects = append(subjects, name(t, subjectRunes))
		}
	}
	return episode.Predict(subjects, d.recall)
}
