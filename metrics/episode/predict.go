package episode

import (
	"fmt"
	"slices"
)

const (
	predictTasks   = 20 // for which recall is asked
	predictMatches = 10
	alternatives   = 3
	nothingRemains = "Nothing remains"
)

// Predict says which of the tasks to take up next. Tasks are the subjects of what
// remains and can be done now, in their order; recall finds similar episodes, and is
// asked for the first 20 of them. It may be nil.
//
// The task with the highest expected reward is chosen: the mean reward of its
// matches, weighted by their scores, where failures count 0 and matches that Advise
// would leave out do not count. A task without evidence has 0; among equals the
// first one is chosen.
//
// Confidence is that of Advise for the matches of the task that is chosen, and 0 when
// it has none. Without tasks it is 1: that nothing remains is a fact and no guess.
// Alternatives are the next best three, never nil. An error of recall is returned
// with the prediction that can be made without it.
func Predict(tasks []string, recall func(query string, limit int) ([]Match, error)) (Prediction, error) {
	p := Prediction{Remaining: len(tasks), Alternatives: []Alternative{}}
	if len(tasks) == 0 {
		p.Action, p.Confidence, p.Reason = nothingRemains, 1, "no task is left that can be done now"
		return p, nil
	}
	options := make([]option, len(tasks))
	for i, task := range tasks {
		options[i] = option{action: "Work on: " + oneLine(task, sentenceLimit)}
	}
	var err error
	if recall != nil {
		err = ask(options, tasks, recall)
	}
	slices.SortStableFunc(options, func(x, y option) int {
		switch {
		case x.reward > y.reward:
			return -1
		case x.reward < y.reward:
			return 1
		}
		return 0
	})
	p.Action, p.Reason = options[0].action, options[0].reason()
	p.Confidence = confidence(options[0].won, options[0].lost)
	for _, o := range options[1:min(len(options), 1+alternatives)] {
		p.Alternatives = append(p.Alternatives, Alternative{Action: o.action, Reward: o.reward})
	}
	return p, err
}

// option is one task that could be next, with its evidence.
type option struct {
	action    string
	reward    float64 // expected
	won, lost int
}

func ask(options []option, tasks []string, recall func(string, int) ([]Match, error)) error {
	for i, task := range tasks[:min(predictTasks, len(tasks))] {
		matches, err := recall(task, predictMatches)
		if err != nil {
			return fmt.Errorf("predict the next task: %w", err)
		}
		weight, sum := 0.0, 0.0
		for _, m := range relevant(matches) {
			weight += m.Score
			if m.Success {
				sum += m.Score * share(m.Reward)
				options[i].won++
			} else {
				options[i].lost++
			}
		}
		if weight > 0 {
			options[i].reward = sum / weight
		}
	}
	return nil
}

func (o option) reason() string {
	n := o.won + o.lost
	switch n {
	case 0:
		return "no similar episode yet; the first task that can be done"
	case 1:
		return fmt.Sprintf("1 similar episode, %d succeeded, mean reward %.2f", o.won, o.reward)
	}
	return fmt.Sprintf("%d similar episodes, %d succeeded, mean reward %.2f", n, o.won, o.reward)
}
