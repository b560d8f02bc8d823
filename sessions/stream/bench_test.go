package stream_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"autopilot/sessions/stream"
)

// prose is text as models and tools write it: one escape sequence in forty
// bytes, a few characters beyond ASCII.
func prose(random *rand.Rand, n int) string {
	const words = "the test of a file was run again and the result is not what we expected\n\t\"ok\" → func main() { return nil } "
	var b strings.Builder
	for b.Len() < n {
		from := random.IntN(len(words) / 2)
		b.WriteString(strings.ToValidUTF8(words[from:], ""))
	}
	return strings.ToValidUTF8(b.String()[:n], "")
}

// toolResultLine is the result of a command: the text stands in it twice.
func toolResultLine(random *rand.Rand, n int) string {
	text, err := json.Marshal(prose(random, n/2))
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_%04d","type":"tool_result",`+
		`"content":%s,"is_error":false}]},"parent_tool_use_id":null,"session_id":"4fac9f5d-8aaa-4dfa-93f9-bdbca6fece19",`+
		`"uuid":"cd2cb1ff-f0a9-474e-a4e9-4912d64f02a9","timestamp":"2026-01-02T03:04:05.678Z",`+
		`"tool_use_result":{"stdout":%s,"stderr":"","interrupted":false}}`+"\n", random.IntN(10000), text, text)
}

func deltaLine(random *rand.Rand, n int) string {
	text, err := json.Marshal(prose(random, n))
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta",`+
		`"text":%s}},"session_id":"4fac9f5d-8aaa-4dfa-93f9-bdbca6fece19","parent_tool_use_id":null,`+
		`"uuid":"cd2cb1ff-f0a9-474e-a4e9-4912d64f02a9"}`+"\n", text)
}

func resultLine(random *rand.Rand, n int) string {
	text, err := json.Marshal(prose(random, n))
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"duration_api_ms":43,"stop_reason":"end_turn","usage":{"input_tokens":100,"output_tokens":20},`+
		`"terminal_reason":"completed","subtype":"success","result":%s,"num_turns":3,"is_error":false,"type":"result"}`+"\n", text)
}

// corpus returns lines of the sizes that a session prints.
func corpus(kind string) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	switch kind {
	case "small":
		for range 1000 {
			b.WriteString(toolResultLine(random, 600))
			b.WriteString(deltaLine(random, 600))
		}
	case "large":
		for i := range 500 {
			switch {
			case i%250 == 0:
				b.WriteString(toolResultLine(random, 1<<20+random.IntN(3<<20)))
			case i%4 == 0:
				b.WriteString(toolResultLine(random, 200+random.IntN(1800)))
			case i%6 == 1:
				b.WriteString(toolResultLine(random, 16<<10+random.IntN(112<<10)))
			default:
				b.WriteString(toolResultLine(random, 2<<10+random.IntN(14<<10)))
			}
		}
	case "tool10MB":
		b.WriteString(toolResultLine(random, 10<<20))
	case "result10MB":
		b.WriteString(resultLine(random, 10<<20))
	case "result5MB":
		b.WriteString(resultLine(random, 5<<20))
	}
	return []byte(b.String())
}

// plainly decodes line by line the plain way.
func plainly(text []byte, target func() any) error {
	r := bufio.NewReader(bytes.NewReader(text))
	for {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err := json.Unmarshal(line, target()); err != nil {
			return err
		}
	}
}

// inPieces decodes text as a terminal delivers it.
func inPieces(text []byte) error {
	d := stream.New(stream.Limits{}, func(stream.Event) {})
	for rest := text; len(rest) > 0; {
		n := min(len(rest), 4096)
		if _, err := d.Write(rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return d.Close()
}

// cpu returns the processor time that calling do takes, garbage collection
// included: other work on the machine disturbs it less than the time by the
// clock.
func cpu(b *testing.B, do func() error) time.Duration {
	var before, after syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	err = errors.Join(err, do(), syscall.Getrusage(syscall.RUSAGE_SELF, &after))
	if err != nil {
		b.Fatal(err)
	}
	spent := func(r syscall.Rusage) time.Duration { return time.Duration(r.Utime.Nano() + r.Stime.Nano()) }
	return spent(after) - spent(before)
}

// BenchmarkDecode reads what a session prints in the pieces that a terminal
// delivers. It reports how many times less processor time that takes than
// encoding/json on whole lines, into a map and into the struct, turn by turn.
func BenchmarkDecode(b *testing.B) {
	for _, kind := range []string{"small", "large", "tool10MB", "result5MB", "result10MB"} {
		b.Run(kind, func(b *testing.B) {
			text := corpus(kind)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if err := inPieces(text); err != nil {
					b.Fatal(err)
				}
			}
			var ours, intoMap, intoStruct time.Duration
			for range 10 {
				ours += cpu(b, func() error { return inPieces(text) })
				intoMap += cpu(b, func() error { return plainly(text, func() any { return new(map[string]any) }) })
				intoStruct += cpu(b, func() error { return plainly(text, func() any { return new(stream.Event) }) })
			}
			b.ReportMetric(float64(intoMap)/float64(ours), "x-map")
			b.ReportMetric(float64(intoStruct)/float64(ours), "x-struct")
			b.ReportMetric(float64(len(text))*10/1e6/ours.Seconds(), "MB/cpu-s")
		})
	}
}
