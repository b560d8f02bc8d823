package hook

import (
	"bytes"
	"io"
	"strconv"
	"time"

	"autopilot/metrics/plainfile"
	"autopilot/sessions/completion"
)

const (
	transcriptLimit = 1 << 20       // bytes from the end that are read at most
	mostTokens      = 1_000_000_000 // of one kind that one answer of a model can have taken
)

// readTranscript says what the agent did after an offset in its transcript and after
// a time. A file that is shorter than the offset is another one and read from its
// start; of much text only the end is read. A file that is missing, or not what it
// should be, has no work in it.
func readTranscript(path string, from int64, since time.Time) completion.Work {
	nothing := completion.Work{Offset: from}
	f, info, err := plainfile.Open(path)
	if err != nil {
		return nothing
	}
	defer f.Close()
	if from < 0 || from > info.Size() {
		from = 0
	}
	start := max(from, info.Size()-transcriptLimit)
	data := make([]byte, info.Size()-start)
	n, err := io.ReadFull(io.NewSectionReader(f, start, info.Size()-start), data)
	if err != nil && n == 0 {
		return completion.Work{Offset: from}
	}
	data = data[:n]
	if start > from { // in the middle of a line
		i := bytes.IndexByte(data, '\n') + 1
		start, data = start+int64(i), data[i:]
	}
	// A line that is just being written is left for the next time.
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	w := sumUp(data, since)
	w.Offset = start + int64(len(data))
	return w
}

// sumUp reads records. An answer of the model is several of them, each with the
// usage up to then.
func sumUp(data []byte, since time.Time) completion.Work {
	var w completion.Work
	answers := map[string]int64{}
	i := 0
	for text := range bytes.Lines(data) {
		i++
		if !bytes.Contains(text, []byte(`"assistant"`)) {
			continue // results of tools, often large
		}
		a, ok := readAnswer(text)
		if !ok || a.at.Before(since) && !a.at.IsZero() {
			continue
		}
		w.ToolsUsed = w.ToolsUsed || a.tools
		if a.id == "" {
			a.id = strconv.Itoa(i) // no id of a message is a number
		}
		answers[a.id] = max(answers[a.id], a.tokens)
	}
	for _, n := range answers {
		w.Tokens += n
	}
	return w
}

type answer struct {
	id     string
	at     time.Time // zero when not known
	tools  bool
	tokens int64
}

// readAnswer reads a record with an answer of the model.
func readAnswer(text []byte) (a answer, ok bool) {
	members(text, blank(text, 0), func(key []byte, i int) int {
		if string(key) == `"message"` {
			return members(text, i, func(key []byte, i int) int { return a.message(text, key, i) })
		}
		end := skip(text, i)
		switch value := text[i:end]; string(key) {
		case `"type"`:
			ok = string(value) == `"assistant"`
		case `"timestamp"`:
			if s, err := strconv.Unquote(string(value)); err == nil {
				a.at, _ = time.Parse(time.RFC3339, s) // zero when it is no time
			}
		}
		return end
	})
	return a, ok
}

// message reads the value at i of a message and returns where it ends.
func (a *answer) message(text, key []byte, i int) int {
	switch string(key) {
	case `"id"`:
		end := skip(text, i)
		a.id = string(text[i:end])
		return end
	case `"usage"`:
		// What was read from the cache costs next to nothing and would outweigh the rest.
		return members(text, i, func(key []byte, i int) int {
			end := skip(text, i)
			switch string(key) {
			case `"input_tokens"`, `"output_tokens"`, `"cache_creation_input_tokens"`:
				if n, err := strconv.ParseInt(string(text[i:end]), 10, 64); err == nil {
					a.tokens += min(max(n, 0), mostTokens)
				}
			}
			return end
		})
	case `"content"`:
		return elements(text, i, func(i int) int {
			return members(text, i, func(key []byte, i int) int {
				end := skip(text, i)
				a.tools = a.tools || string(key) == `"type"` && string(text[i:end]) == `"tool_use"`
				return end
			})
		})
	}
	return skip(text, i)
}

// members calls fn with the keys of the JSON object at i, as they stand in the text,
// and with where their values begin; fn returns where the value ends, and members
// where the object does. Another value is passed over. So a text is gone through
// once, with a look at quotes and brackets only. At what cannot be JSON it ends; what
// it is given came from a program that writes JSON.
func members(text []byte, i int, fn func(key []byte, i int) int) int {
	if i == len(text) || text[i] != '{' {
		return skip(text, i)
	}
	for i = blank(text, i+1); i < len(text) && text[i] == '"'; i = blank(text, i+1) {
		end := skipString(text, i)
		key := text[i:end]
		if i = blank(text, end); i == len(text) || text[i] != ':' {
			return len(text)
		}
		i = blank(text, i+1)
		if end = fn(key, i); end == i {
			return len(text)
		}
		if i = blank(text, end); i == len(text) || text[i] != ',' {
			break
		}
	}
	if i < len(text) && text[i] == '}' {
		return i + 1
	}
	return len(text)
}

// elements is members for the JSON array at i.
func elements(text []byte, i int, fn func(i int) int) int {
	if i == len(text) || text[i] != '[' {
		return skip(text, i)
	}
	for i = blank(text, i+1); i < len(text) && text[i] != ']'; i = blank(text, i+1) {
		end := fn(i)
		if end == i {
			return len(text)
		}
		if i = blank(text, end); i == len(text) || text[i] != ',' {
			break
		}
	}
	if i < len(text) && text[i] == ']' {
		return i + 1
	}
	return len(text)
}

func blank(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n') {
		i++
	}
	return i
}

// skip returns where the value that begins at i ends; i when there is none.
func skip(text []byte, i int) int {
	for depth := 0; i < len(text); {
		switch text[i] {
		case '"':
			i = skipString(text, i)
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
		default:
			if depth > 0 {
				i++
				continue
			}
			for i < len(text) && bytes.IndexByte([]byte(",]} \t\r\n"), text[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
	return i
}

// skipString returns where the string that begins at i ends.
func skipString(text []byte, i int) int {
	for i++; i < len(text); i++ {
		n := bytes.IndexByte(text[i:], '"')
		if n < 0 {
			break
		}
		i += n
		slashes := 0
		for text[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
	return len(text)
}
