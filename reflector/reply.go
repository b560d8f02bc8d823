package reflector

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	maxReply  = 1 << 20      // bytes
	maxWork   = 4 * maxReply // bytes read in search of an object
	perObject = 2048         // what beginning to read one costs, in the same measure
)

// ReadObject returns the first JSON object in a model's reply that satisfies a
// JSON schema. It may stand in a code fence, between words and other objects. The
// error is about the first object when none does.
func ReadObject(reply []byte, schema string) ([]byte, error) {
	if len(reply) > maxReply {
		return nil, fmt.Errorf("it has %d bytes, more than %d", len(reply), maxReply)
	}
	found, err := objects(reply)
	if err != nil {
		return nil, err
	}
	resolved, err := resolve(schema)
	if err != nil {
		return nil, err
	}
	var first error
	for _, object := range found {
		problem := validate(resolved, object)
		if problem == nil {
			return object, nil
		}
		if first == nil {
			first = errors.New(oneLine(problem.Error(), maxProblem))
		}
	}
	return nil, first
}

func resolve(schema string) (*jsonschema.Resolved, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(schema), &s); err != nil {
		return nil, err
	}
	return s.Resolve(nil)
}

func validate(schema *jsonschema.Resolved, object []byte) error {
	var value map[string]any
	if err := json.Unmarshal(object, &value); err != nil {
		return err
	}
	return schema.Validate(value)
}

// objects finds the JSON objects in a text that lie in no other one, from left to
// right. Every brace may begin one, so the work is bounded: what comes after it is
// not looked at. The error is that of the object that went furthest.
func objects(text []byte) ([][]byte, error) {
	var found [][]byte
	why, furthest := errors.New("it holds no JSON object"), -1
	for at, work := 0, 0; work < maxWork; work += perObject {
		i := bytes.IndexByte(text[at:], '{')
		if i < 0 {
			break
		}
		at += i
		var object json.RawMessage
		err := json.NewDecoder(bytes.NewReader(text[at:])).Decode(&object)
		if err == nil {
			found = append(found, object)
			at += len(object)
			work += len(object)
			continue
		}
		size := len(text) - at
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			size = int(syntax.Offset)
		}
		if at+size > furthest {
			why, furthest = fmt.Errorf("it holds no complete JSON object: %w", err), at+size
		}
		at++
		work += size
	}
	if len(found) == 0 {
		return nil, why
	}
	return found, nil
}
