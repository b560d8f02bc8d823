package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"autopilot/sessions/prompt"

	"github.com/google/jsonschema-go/jsonschema"
)

// NotBlank is the only pattern that the schemas of arguments may have.
const NotBlank = `\S`

// plain takes the null out of the types of all arguments: Go's pointers and
// slices are only a way to see that one was left out.
func plain(s *jsonschema.Schema) {
	for _, p := range s.Properties {
		if i := slices.Index(p.Types, "null"); i >= 0 && len(p.Types) == 2 {
			p.Type, p.Types = p.Types[1-i], nil
		}
		plain(p)
	}
}

// readArguments puts the arguments of a call where they belong. It refuses what
// the schema refuses, and names everything that is wrong at once.
func readArguments(raw json.RawMessage, tool string, schema *jsonschema.Schema, into any) error {
	args := map[string]any{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &args); err != nil {
			return fmt.Errorf("%s: the arguments are no JSON object", tool)
		}
	}
	dropNulls(args)
	if wrong := check(schema, args); len(wrong) > 0 {
		return errors.New(tool + ": " + strings.Join(wrong, "; "))
	}
	// Once more through JSON, because 50.0 is an integer there but not for Go.
	data, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("%s: internal error: %w", tool, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: internal error: %w", tool, err)
	}
	return nil
}

func dropNulls(args map[string]any) {
	for n, v := range args {
		switch v := v.(type) {
		case nil:
			delete(args, n)
		case map[string]any:
			dropNulls(v)
		}
	}
}

// check says what is wrong with arguments, in the order of the schema; unknown
// ones come last.
func check(schema *jsonschema.Schema, args map[string]any) []string {
	return checkObject("", schema, args)
}

// checkObject checks the arguments in an object, which is an argument itself unless its
// name is empty.
func checkObject(name string, schema *jsonschema.Schema, args map[string]any) []string {
	prefix, taker := "", "the tool"
	if name != "" {
		prefix, taker = name+".", name
	}
	var wrong []string
	for _, n := range schema.PropertyOrder {
		v, ok := args[n]
		switch {
		case ok:
			wrong = append(wrong, checkValue(prefix+n, schema.Properties[n], v)...)
		case slices.Contains(schema.Required, n):
			wrong = append(wrong, fmt.Sprintf("%s is missing: %s", prefix+n, schema.Properties[n].Description))
		}
	}
	var unknown []string
	for n := range args {
		if schema.Properties[n] == nil {
			unknown = append(unknown, quote(prefix+n))
		}
	}
	slices.Sort(unknown)
	if len(unknown) > 0 {
		takes := "takes no arguments"
		if len(schema.PropertyOrder) > 0 {
			takes = "takes " + strings.Join(schema.PropertyOrder, ", ")
		}
		wrong = append(wrong, fmt.Sprintf("unknown argument %s; %s %s", strings.Join(unknown[:min(len(unknown), 5)], ", "), taker, takes))
	}
	return wrong
}

func checkValue(name string, s *jsonschema.Schema, v any) []string {
	if !isType(s.Type, v) {
		return []string{fmt.Sprintf("%s must be %s", name, kindName(s.Type))}
	}
	switch v := v.(type) {
	case float64:
		if v < least(s.Minimum, math.Inf(-1)) || v > least(s.Maximum, math.Inf(1)) {
			return []string{fmt.Sprintf("%s is %s; it must be %s", name, numeral(s, v), bounds(s))}
		}
	case string:
		return checkText(name, s, v)
	case []any:
		return checkList(name, s, v)
	case map[string]any:
		return checkObject(name, s, v)
	}
	return nil
}

func numeral(s *jsonschema.Schema, v float64) string {
	if s.Type == "integer" {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func bounds(s *jsonschema.Schema) string {
	switch {
	case s.Maximum == nil:
		return "at least " + numeral(s, *s.Minimum)
	case s.Minimum == nil:
		return "at most " + numeral(s, *s.Maximum)
	}
	return "from " + numeral(s, *s.Minimum) + " to " + numeral(s, *s.Maximum)
}

func checkText(name string, s *jsonschema.Schema, v string) []string {
	switch n := utf8.RuneCountInString(v); {
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, any(v)):
		return []string{fmt.Sprintf("%s is %s; it must be one of %s", name, quote(v), words(s.Enum))}
	case s.Pattern == NotBlank && strings.TrimSpace(v) == "":
		return []string{name + " is blank"}
	case s.MaxLength != nil && n > *s.MaxLength:
		return []string{fmt.Sprintf("%s has %d characters; at most %d are taken", name, n, *s.MaxLength)}
	}
	return nil
}

func checkList(name string, s *jsonschema.Schema, v []any) []string {
	switch {
	case s.MinItems != nil && len(v) < *s.MinItems:
		return []string{fmt.Sprintf("%s has %d items; it must have at least %d", name, len(v), *s.MinItems)}
	case s.MaxItems != nil && len(v) > *s.MaxItems:
		return []string{fmt.Sprintf("%s has %d items; at most %d are taken", name, len(v), *s.MaxItems)}
	}
	for i, item := range v {
		if wrong := checkValue(fmt.Sprintf("%s[%d]", name, i), s.Items, item); wrong != nil {
			return wrong
		}
		if s.UniqueItems && slices.Contains(v[:i], item) {
			return []string{fmt.Sprintf("%s names %v twice", name, item)}
		}
	}
	return nil
}

func isType(want string, v any) bool {
	switch v := v.(type) {
	case bool:
		return want == "boolean"
	case float64:
		return want == "number" || want == "integer" && v == math.Trunc(v)
	case string:
		return want == "string"
	case []any:
		return want == "array"
	case map[string]any:
		return want == "object"
	}
	return false
}

func kindName(t string) string {
	switch t {
	case "boolean":
		return "true or false"
	case "integer":
		return "a whole number"
	case "number":
		return "a number"
	case "object":
		return "an object"
	case "array":
		return "a list of strings"
	}
	return "a string"
}

func least(bound *float64, otherwise float64) float64 {
	if bound == nil {
		return otherwise
	}
	return *bound
}

func words(list []any) string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = fmt.Sprint(v)
	}
	return strings.Join(out, ", ")
}

// quote makes foreign text safe to repeat: short and on one line.
func quote(s string) string { return fmt.Sprintf("%q", prompt.Cut(s, 40)) }
