package story

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"autopilot/metrics/spelling"

	"go.yaml.in/yaml/v3"
)

// reader reads the nodes of a file and keeps what is wrong with them.
type reader struct{ flaws []flaw }

type flaw struct {
	line int
	fact string
}

func (r *reader) fail(at *yaml.Node, format string, args ...any) {
	r.flaws = append(r.flaws, flaw{at.Line, fmt.Sprintf(format, args...)})
}

// list returns the nodes of the stories. Its errors are those after which there is nothing
// to look at.
func (r *reader) list(data []byte) ([]*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("there are none")
	case err != nil:
		return nil, errors.New(line(strings.TrimPrefix(err.Error(), "yaml: "), 300))
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the first document")
	}
	top := target(doc.Content[0])
	if top.Kind == yaml.MappingNode {
		var inner *yaml.Node
		r.each(top, []string{"stories"}, func(_ string, value *yaml.Node) { inner = value })
		if inner == nil {
			inner = &yaml.Node{Kind: yaml.SequenceNode, Line: top.Line}
		}
		top = inner
	}
	switch {
	case top.Kind != yaml.SequenceNode && !null(top):
		return nil, fmt.Errorf("line %d: neither a list nor a mapping with stories, a list", top.Line)
	case len(top.Content) == 0 && len(r.flaws) == 0:
		return nil, errors.New("there are none")
	case len(top.Content) > mostStories:
		return nil, fmt.Errorf("there are %d: there may be %d", len(top.Content), mostStories)
	}
	return top.Content, nil
}

// keys are the keys of a story.
func keys() []string {
	return []string{"id", "goal", "increment", "title", "after", "paths", "verify", "priority"}
}

func (r *reader) story(node *yaml.Node) Story {
	s := Story{Kind: Goal}
	node = target(node)
	if node.Kind != yaml.MappingNode {
		r.fail(node, "a story is a mapping with keys such as goal, not %s", kindOf(node))
		return s
	}
	increment, about := "", 0
	r.each(node, keys(), func(key string, value *yaml.Node) {
		if key == "goal" || key == "increment" {
			about++
		}
		switch key {
		case "id":
			s.ID = r.text(key, value, longestID)
		case "goal":
			s.Goal = paragraphs(r.text(key, value, longestGoal))
		case "increment":
			increment = r.text(key, value, longestID)
		case "title":
			s.Title = line(r.text(key, value, longestGoal), longestTitle)
		case "after":
			s.After = r.texts(key, value, mostAfter, longestID)
		case "paths":
			s.Paths = r.texts(key, value, mostPaths, longestPattern)
		case "verify":
			s.Verify = r.texts(key, value, mostCommands, longestCommand)
		case "priority":
			s.Priority = r.number(key, value)
		}
	})
	switch {
	case about == 2:
		r.fail(node, "a story has a goal or an increment, not both")
	case about == 0:
		r.fail(node, "a story has a goal or an increment: this one has neither")
	case increment == "":
	case s.ID != "" && s.ID != increment:
		r.fail(node, "the id %q is not the increment %q: leave it out", line(s.ID, longestID), line(increment, longestID))
	default:
		s.Kind, s.ID = Increment, increment
	}
	return s
}

// each calls f for the keys of a mapping that are known and have a value.
func (r *reader) each(node *yaml.Node, known []string, f func(key string, value *yaml.Node)) {
	var seen []string
	for i := 0; i+1 < len(node.Content); i += 2 {
		at, value := node.Content[i], target(node.Content[i+1])
		key := at.Value
		switch {
		case at.Kind != yaml.ScalarNode:
			r.fail(at, "a key is a word, not %s", kindOf(at))
		case slices.Contains(seen, key):
			r.fail(at, "the key %q is there twice", line(key, 60))
		case !slices.Contains(known, key):
			r.fail(at, "unknown key %q, the nearest known is %q", line(key, 60), spelling.Nearest(key, known))
		case !null(value):
			f(key, value)
		}
		seen = append(seen, key)
	}
}

// text returns a value as it is written, so that an id such as 007 stays one.
func (r *reader) text(key string, value *yaml.Node, longest int) string {
	switch {
	case value.Kind != yaml.ScalarNode || value.Tag == "!!binary":
		r.fail(value, "%s is a text, not %s", key, kindOf(value))
	case len(value.Value) > longest*4: // bytes of a rune; cheap to see for what is absurd
		r.fail(value, "%s is longer than %d characters", key, longest)
	default:
		return strings.TrimSpace(value.Value)
	}
	return ""
}

func (r *reader) texts(key string, value *yaml.Node, most, longest int) []string {
	list := value.Content
	switch {
	case value.Kind == yaml.ScalarNode:
		list = []*yaml.Node{value}
	case value.Kind != yaml.SequenceNode:
		r.fail(value, "%s is a list of texts, not %s", key, kindOf(value))
		return nil
	case len(list) > most:
		r.fail(value, "%s has %d entries: there may be %d", key, len(list), most)
		return nil
	}
	var out []string
	for _, node := range list {
		if node = target(node); null(node) {
			r.fail(node, "an entry of %s is empty", key)
			continue
		}
		if s := r.text("an entry of "+key, node, longest); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func (r *reader) number(key string, value *yaml.Node) int {
	n, err := strconv.Atoi(value.Value)
	if value.Kind != yaml.ScalarNode || err != nil || n < 0 || n > lowestPriority {
		r.fail(value, "%s is a number from 0 to %d", key, lowestPriority)
		return 0
	}
	return n
}

// target is the node that an alias stands for.
func target(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

func null(node *yaml.Node) bool { return node.Kind == yaml.ScalarNode && node.Tag == "!!null" }

func kindOf(node *yaml.Node) string {
	switch {
	case null(node):
		return "nothing"
	case node.Kind == yaml.SequenceNode:
		return "a list"
	case node.Kind == yaml.MappingNode:
		return "a mapping"
	case node.Tag == "!!binary":
		return "binary data"
	}
	return "a text"
}
