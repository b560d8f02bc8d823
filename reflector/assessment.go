package reflector

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"autopilot/sessions/prompt"
)

// Achieved says whether the goal is reached.
type Achieved string

// Values of Achieved.
const (
	Yes     Achieved = "YES"
	No      Achieved = "NO"
	Partial Achieved = "PARTIAL"
)

// Progress says how well it goes.
type Progress string

// Values of Progress.
const (
	Good  Progress = "GOOD"
	Slow  Progress = "SLOW"
	Stuck Progress = "STUCK"
)

// Recommendation says what to do next.
type Recommendation string

// Values of Recommendation.
const (
	Continue Recommendation = "CONTINUE"
	Stop     Recommendation = "STOP"
	AskUser  Recommendation = "ASK_USER"
)

// Assessment is the outcome of a reflection.
type Assessment struct {
	GoalAchieved    Achieved       `json:"goalAchieved"`
	Progress        Progress       `json:"progress"`
	PercentComplete float64        `json:"percentComplete"` // 0..100
	LoopDetected    bool           `json:"loopDetected"`
	Recommendation  Recommendation `json:"recommendation"`
	Reasoning       string         `json:"reasoning"`
	NextSteps       []string       `json:"nextSteps"`
	// MilestonesDone are the numbers, from 1, of the milestones that are reached.
	// It is optional.
	MilestonesDone []int `json:"milestonesDone,omitempty"`
}

const (
	maxReasoning  = 2000 // runes
	maxStep       = 300  // runes
	maxSteps      = 20
	maxMilestones = 1000
	maxProblem    = 500 // runes
)

// Schema is the JSON schema that every assessment satisfies.
const Schema = `{"type":"object","additionalProperties":false,` +
	`"required":["goalAchieved","progress","percentComplete","loopDetected","recommendation","reasoning","nextSteps"],"properties":{` +
	`"goalAchieved":{"type":"string","enum":["YES","NO","PARTIAL"],"description":"Is the goal reached, every criterion of it?"},` +
	`"progress":{"type":"string","enum":["GOOD","SLOW","STUCK"],"description":"How well does it go?"},` +
	`"percentComplete":{"type":"number","minimum":0,"maximum":100,"description":"How much of the goal is reached."},` +
	`"loopDetected":{"type":"boolean","description":"Is the same thing tried again and again?"},` +
	`"recommendation":{"type":"string","enum":["CONTINUE","STOP","ASK_USER"],"description":"What to do next. STOP only when going on is of no use."},` +
	`"reasoning":{"type":"string","description":"Why, in two or three sentences."},` +
	`"nextSteps":{"type":"array","items":{"type":"string"},"description":"Concrete actions, or the options a person can choose from."},` +
	`"milestonesDone":{"type":"array","items":{"type":"integer","minimum":1},"description":"Numbers of the milestones that are reached."}}}`

// ParseAssessment reads a reply as an assessment. The object may stand in a code
// fence or between words and other objects, because models put it there. Two
// assessments that differ are none, since nobody knows which of them is meant. A
// field that stands twice has its last value. Long texts and lists are cut. The
// error says what is wrong in words that help a model to repair it, and is short
// whatever the reply.
func ParseAssessment(reply []byte) (Assessment, error) {
	if len(reply) > maxReply {
		return Assessment{}, fmt.Errorf("read assessment: it has %d bytes, more than %d", len(reply), maxReply)
	}
	found, err := objects(reply)
	if err != nil {
		return Assessment{}, fmt.Errorf("read assessment: %w", err)
	}
	a, err := theOne(found)
	if err != nil {
		return Assessment{}, fmt.Errorf("read assessment: %s", oneLine(err.Error(), maxProblem))
	}
	return a, nil
}

// theOne returns the one assessment among some objects. Without any, the error is
// about the first object.
func theOne(found [][]byte) (Assessment, error) {
	schema, err := resolve(Schema)
	if err != nil {
		return Assessment{}, err
	}
	var a Assessment
	var problem error
	valid := 0
	for _, object := range found {
		next, err := read(schema, object)
		switch {
		case err != nil:
			if problem == nil {
				problem = err
			}
		case valid > 0 && !reflect.DeepEqual(a, next):
			return Assessment{}, errors.New("it holds two assessments that differ")
		default:
			a = next
			valid++
		}
	}
	if valid == 0 {
		return Assessment{}, problem
	}
	return a, nil
}

// read reads one object and brings its texts and lists into bounds.
func read(schema *jsonschema.Resolved, object []byte) (Assessment, error) {
	if err := validate(schema, object); err != nil {
		return Assessment{}, err
	}
	var a Assessment
	if err := json.Unmarshal(object, &a); err != nil {
		return Assessment{}, err
	}
	a.Reasoning = prompt.Cut(strings.TrimSpace(a.Reasoning), maxReasoning)
	a.NextSteps = steps(a.NextSteps)
	slices.Sort(a.MilestonesDone)
	a.MilestonesDone = slices.Compact(a.MilestonesDone)
	a.MilestonesDone = a.MilestonesDone[:min(len(a.MilestonesDone), maxMilestones)]
	return a, nil
}

func steps(list []string) []string {
	out := []string{}
	for _, s := range list {
		if s = oneLine(s, maxStep); s != "" && len(out) < maxSteps {
			out = append(out, s)
		}
	}
	return out
}

func oneLine(s string, n int) string { return prompt.Cut(strings.Join(strings.Fields(s), " "), n) }
