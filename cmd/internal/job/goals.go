package job

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/outside"
	"autopilot/reflector"
	"autopilot/reflector/goal"
	"autopilot/supervisor"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/pursuit"
)

// lifecycleGoal is what the sessions of a repository's own plan work towards.
const lifecycleGoal = "Carry on with this repository's work as its own plan and signals say."

// tasksGoal is what sessions on tasks work towards.
const tasksGoal = "Complete every task of this repository."

// queueGoal is what sessions on the queue work towards.
const queueGoal = "Work through the queue."

// readGoals analyses the goals that were given and makes their checks.
func (j *Job) readGoals(texts []string) error {
	for _, t := range texts {
		if t = strings.TrimSpace(t); t == "" {
			return outside.UsageHint(`say what is to be reached: autopilot run "make the tests pass"`, "the goal is empty")
		}
		if slices.ContainsFunc(j.Goals, func(a goal.Analysis) bool { return a.Goal == t }) {
			return outside.Usage("the goal %q is given twice", t)
		}
		j.Goals = append(j.Goals, goal.Analyse(t))
	}
	if err := j.emptyChecks(); err != nil {
		return err
	}
	var err error
	if j.verify, err = parse(j.Cfg.Verify, gate.ParseCommand); err != nil {
		return outside.Usage("verify: %v", err)
	}
	if j.expect, err = parse(j.Cfg.ExpectFiles, gate.ParseFile); err != nil {
		return outside.Usage("expect-file: %v", err)
	}
	return nil
}

// emptyChecks refuses a check that was typed and says nothing: a variable of the
// shell that is not set must not leave a goal without its proof.
func (j Job) emptyChecks() error {
	for _, v := range j.Layers[len(j.Layers)-1] {
		if v.Key != "verify" && v.Key != "expect-file" {
			continue
		}
		if slices.ContainsFunc(v.Raw, func(s string) bool { return strings.TrimSpace(s) == "" }) {
			return outside.UsageHint("leave it out, or put into the quotes what must hold", "--%s is empty", v.Key)
		}
	}
	return nil
}

func parse(texts []string, read func(string) (gate.Check, error)) ([]gate.Check, error) {
	var out []gate.Check
	for _, t := range texts {
		c, err := read(t)
		if err != nil {
			return nil, err
		}
		c.Given = true
		out = append(out, c)
	}
	return out, nil
}

// Ambiguous is the first goal of which nobody could tell when it is reached.
func (j Job) Ambiguous() (i int, found bool) {
	if !j.Cfg.RequireConcreteGoals || j.Cfg.ProceedWithTimeLimit {
		return 0, false
	}
	i = slices.IndexFunc(j.Goals, func(a goal.Analysis) bool { return a.Ambiguous })
	return i, i >= 0
}

// Refine replaces every ambiguous goal by its suggestion, where that is wanted,
// and refuses what stays ambiguous.
func (j *Job) Refine() error {
	for {
		i, found := j.Ambiguous()
		if !found {
			return nil
		}
		a := j.Goals[i]
		if !j.Cfg.AutoRefineGoals {
			return &outside.Error{
				Code: supervisor.ExitPerson, Err: fmt.Errorf("the goal %q is refused: %s", a.Goal, a.Issue),
				Way: fmt.Sprintf("suggestion: %s\n  or say --auto-refine-goals to take it, --proceed-with-time-limit to go on as it is", a.Suggestion),
			}
		}
		j.Replace(i, a.Suggestion)
		j.Refined = append(j.Refined, a.Goal)
	}
}

// Replace puts another goal in the place of the i-th.
func (j *Job) Replace(i int, text string) {
	j.Goals[i] = goal.Analyse(text)
	j.Goal = j.Goals[0].Goal
}

// Texts are the goals in words.
func (j Job) Texts() []string {
	var out []string
	for _, a := range j.Goals {
		out = append(out, a.Goal)
	}
	return out
}

// Size is the size of all goals together.
func (j Job) Size() int {
	n := 0
	for _, a := range j.Goals {
		n += a.Size
	}
	return max(n, 1)
}

// Pursued are the goals as a run follows them.
func (j Job) Pursued() []pursuit.Goal {
	if len(j.Goals) == 0 && j.OnTasks() {
		return []pursuit.Goal{{Text: tasksGoal, Checks: slices.Concat(j.verify, j.expect), Size: 1}}
	}
	if len(j.Goals) == 0 && j.OnQueue() {
		return []pursuit.Goal{{Text: queueGoal, Checks: slices.Concat(j.verify, j.expect), Size: 1}}
	}
	if len(j.Goals) == 0 && j.OnTDD() {
		return []pursuit.Goal{{Text: "Complete task " + j.Cfg.Task + " test by test.", Checks: slices.Concat(j.verify, j.expect), Size: 1}}
	}
	if len(j.Goals) == 0 {
		return []pursuit.Goal{{Text: lifecycleGoal, Checks: j.verify, Size: 1}}
	}
	var out []pursuit.Goal
	for i, a := range j.Goals {
		g := pursuit.Goal{Text: a.Goal, Size: a.Size, Checks: slices.Concat(j.verify, j.expected(i))}
		for _, name := range a.Deliverables {
			c, err := gate.ParseFile(name)
			if err == nil && !slices.ContainsFunc(g.Checks, func(have gate.Check) bool { return path.Clean(have.File) == path.Clean(c.File) }) {
				g.Checks = append(g.Checks, c)
			}
		}
		for _, c := range a.Criteria {
			g.Criteria = append(g.Criteria, c.Text)
		}
		for _, c := range g.Checks {
			if c.Given {
				g.Criteria = append(g.Criteria, criterion(c))
			}
		}
		for _, m := range a.Milestones {
			g.Milestones = append(g.Milestones, reflector.Milestone{Text: m.Text})
		}
		out = append(out, g)
	}
	return out
}

func criterion(c gate.Check) string {
	if c.Kind == gate.File {
		return c.Name() + " is there and has content"
	}
	return "the command '" + c.Name() + "' succeeds"
}

// expected are the expected files of the i-th goal: those that it names, and with
// the last goal also those that none names.
func (j Job) expected(i int) []gate.Check {
	var out []gate.Check
	for _, c := range j.expect {
		by := slices.IndexFunc(j.Goals, func(a goal.Analysis) bool { return strings.Contains(a.Goal, c.File) })
		if by == i || by < 0 && i == len(j.Goals)-1 {
			out = append(out, c)
		}
	}
	return out
}

// Profile is what a mode stands for with the settings that were given.
func (j Job) Profile(mode string) supervisor.Profile {
	cfg := j.Cfg
	if mode != cfg.Mode {
		other, err := config.Resolve(append(slices.Clone(j.Layers), []config.Value{{Key: "mode", Raw: []string{mode}, Origin: "autopilot set"}})...)
		if err != nil { // a value that the other mode refuses: its default is used
			other = cfg
		}
		cfg = other
	}
	j.Cfg = cfg
	return supervisor.Profile{Limits: j.Limits(), Interval: cfg.ReflectEvery}
}
