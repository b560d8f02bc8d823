package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"autopilot/sessions/completion"
)

const (
	initialize  = `{"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{},"elicitation":{}},"clientInfo":{"name":"claude-code","version":"2.1.330"}},"jsonrpc":"2.0","id":0}`
	initialized = `{"method":"notifications/initialized","jsonrpc":"2.0"}`
	discover    = `{"jsonrpc":"2.0","id":"server-discover-probe-1","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"claude-code","version":"2.1.330"}}}}`
	askStatus   = `{"method":"tools/call","params":{"name":"autopilot_status","arguments":{},"_meta":{"claudecode/toolUseId":"toolu_1","progressToken":2}},"jsonrpc":"2.0","id":7}`
)

func serveFake(ctx context.Context, in io.ReadCloser, out io.WriteCloser, f *fake) error {
	return serve(ctx, newTransport(in, out, slog.New(slog.DiscardHandler)), f.server())
}

type closingBuffer struct{ bytes.Buffer }

func (*closingBuffer) Close() error { return nil }

// message is what comes back, as far as the tests look at it.
type message struct {
	ID     any `json:"id"`
	Result *struct {
		ProtocolVersion string          `json:"protocolVersion"`
		Structured      json.RawMessage `json:"structuredContent"`
	} `json:"result"`
	Error *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (m message) String() string {
	switch {
	case m.Error != nil:
		return fmt.Sprintf("%v: error %d %s", m.ID, m.Error.Code, m.Error.Message)
	case m.Result == nil:
		return fmt.Sprintf("%v: nothing", m.ID)
	case m.Result.ProtocolVersion != "":
		return fmt.Sprintf("%v: initialized with %s", m.ID, m.Result.ProtocolVersion)
	case m.Result.Structured != nil:
		return fmt.Sprintf("%v: data", m.ID)
	}
	return fmt.Sprintf("%v: result", m.ID)
}

// exchange gives a server all of its input at once, ends it, and returns what came
// back.
func exchange(t *testing.T, f *fake, lines ...string) []string {
	t.Helper()
	var out closingBuffer
	if err := serveFake(t.Context(), io.NopCloser(strings.NewReader(strings.Join(lines, "\n"))), &out, f); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		var m message
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("output is no message: %q: %v", line, err)
		}
		got = append(got, m.String())
	}
	return got
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %d messages, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("message %d is %q, want %q", i, got[i], want[i])
		}
	}
}

func TestClaudeCodeBegins(t *testing.T) {
	t.Parallel()
	talk := newTalk(t, &fake{})
	talk.send(discover)
	expect(t, talk.receive(1), "server-discover-probe-1: error -32601")
	talk.send(initialize, initialized, askStatus)
	expect(t, talk.receive(2), "0: initialized with 2025-11-25", "7: data")
	talk.end()
}

func TestStrayInputDoesNotEndIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ line, want string }{
		{"", ""},
		{"\r", ""},
		{"Listening on port 3000", ""},
		{"{", ""},
		{"\x00\xff\xfe", ""},
		{"42", ""},
		{"null", ""},
		{"{}", ""},
		{"[]", ""},
		{`{"jsonrpc":"2.0"}`, ""},
		{`{"jsonrpc":"1.0","id":5,"method":"ping"}`, "5: error -32600 no JSON-RPC message"},
		{`{"id":"a","method":"ping"}`, "a: error -32600"},
		{`{"jsonrpc":"2.0","id":5,"method":"ping"} trailing`, ""},
		{`{"jsonrpc":"2.0","id":[],"method":"ping"}`, ""},
		{`{"jsonrpc":"2.0","id":5,"method":7}`, "5: error -32600"},
		{`{"jsonrpc":"2.0","id":5,"result":{}}`, ""},
		{`{"jsonrpc":"1.0","id":5,"result":{}}`, ""}, // an answer is not answered
		{`[{"jsonrpc":"2.0","id":5,"method":"ping"}]`, "5: error -32600 no JSON-RPC message: batches are not taken"},
		{`{"jsonrpc":"2.0","id":5,"method":"ping","params":` + strings.Repeat("[", 1001) + strings.Repeat("]", 1001) + `}`, "5: error -32600"},
		{`{"jsonrpc":"2.0","id":5,"method":"no/such"}`, "5: error -32601"},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/call"}`, "5: error -32600"},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":[]}`, "5: error -32602"},
		{`{"jsonrpc":"2.0","method":"no/such/notification"}`, ""},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`, ""},
	} {
		talk := newTalk(t, &fake{})
		talk.send(initialize, initialized)
		expect(t, talk.receive(1), "0: initialized")
		talk.send(tt.line)
		if tt.want != "" {
			expect(t, talk.receive(1), tt.want)
		}
		talk.send(askStatus)
		expect(t, talk.receive(1), "7: data")
		talk.end()
	}
}

func TestToolBeforeInitialize(t *testing.T) {
	t.Parallel()
	expect(t, exchange(t, &fake{}, askStatus), "7: error")
}

func TestOverlongLineEndsIt(t *testing.T) {
	t.Parallel()
	var out closingBuffer
	err := serveFake(t.Context(), io.NopCloser(strings.NewReader(strings.Repeat("x", maxLine+1<<17))), &out, &fake{})
	if err == nil || !strings.Contains(err.Error(), "the line has more than 4194304 bytes") {
		t.Errorf("error is %v", err)
	}
}

// A long line that is allowed arrives whole, through all the buffers on the way.
func TestLongLine(t *testing.T) {
	t.Parallel()
	var got completion.Report
	f := &fake{report: func(r completion.Report) error { got = r; return nil }}
	pad := strings.Repeat(" ", 3<<20)
	expect(t, exchange(t, f, initialize, initialized,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"autopilot_report",`+pad+`"arguments":{"summary":"whole"}}}`),
		"0: initialized", "1: data")
	if got.Summary != "whole" {
		t.Errorf("report is %+v", got)
	}
}

func TestEndOfInputLeavesTimeForAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const long = lastAnswers / 2
		f := &fake{status: func(ctx context.Context) (completion.Status, error) {
			select {
			case <-time.After(long):
				return someStatus(), nil
			case <-ctx.Done():
				return completion.Status{}, ctx.Err()
			}
		}}
		begin := time.Now()
		expect(t, exchange(t, f, initialize, initialized, askStatus), "0: initialized", "7: data")
		if waited := time.Since(begin); waited != long {
			t.Errorf("ended after %v, want as soon as the answer was there, after %v", waited, long)
		}
	})
}

func TestEndOfInputDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var why error
		f := &fake{status: func(ctx context.Context) (completion.Status, error) {
			<-ctx.Done()
			why = context.Cause(ctx)
			return completion.Status{}, ctx.Err()
		}}
		begin := time.Now()
		expect(t, exchange(t, f, initialize, initialized, askStatus), "0: initialized")
		if waited := time.Since(begin); waited != lastAnswers || !errors.Is(why, io.EOF) {
			t.Errorf("ended after %v, want %v; the tool ended because of %v", waited, lastAnswers, why)
		}
	})
}

func TestEndOfContext(t *testing.T) {
	t.Parallel()
	interrupted := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	in, w := io.Pipe()
	defer w.Close()
	running, finished := make(chan struct{}), make(chan error, 1)
	f := &fake{status: func(ctx context.Context) (completion.Status, error) {
		close(running)
		<-ctx.Done()
		finished <- context.Cause(ctx)
		return completion.Status{}, ctx.Err()
	}}
	done := make(chan error, 1)
	go func() { done <- serveFake(ctx, in, &closingBuffer{}, f) }()
	for _, line := range []string{initialize, initialized, askStatus} {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	<-running
	cancel(interrupted)
	if err := <-done; err != nil {
		t.Errorf("Serve: %v, want nil", err)
	}
	select {
	case why := <-finished:
		if !errors.Is(why, interrupted) {
			t.Errorf("the tool ended because of %v, want the cause of the end", why)
		}
	default:
		t.Error("Serve returned while a tool was running")
	}
}

func TestCancelledCall(t *testing.T) {
	t.Parallel()
	running, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	f := &fake{status: func(ctx context.Context) (completion.Status, error) {
		running <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return completion.Status{}, ctx.Err()
	}}
	talk := newTalk(t, f)
	talk.send(initialize, initialized, askStatus)
	expect(t, talk.receive(1), "0: initialized")
	<-running
	talk.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"user"}}`)
	<-ended
	talk.receive(1)
	talk.send(`{"jsonrpc":"2.0","id":8,"method":"ping"}`)
	expect(t, talk.receive(1), "8: result")
	talk.end()
}

func TestBrokenOutput(t *testing.T) {
	t.Parallel()
	in, w := io.Pipe()
	defer w.Close()
	done := make(chan error, 1)
	go func() { done <- serveFake(t.Context(), in, deaf{}, &fake{}) }()
	if _, err := io.WriteString(w, initialize+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, errDeaf) {
		t.Errorf("Serve: %v, want %v", err, errDeaf)
	}
}

var errLate = errors.New("the server does not go on")

var errDeaf = errors.New("nobody listens")

type deaf struct{}

func (deaf) Write([]byte) (int, error) { return 0, errDeaf }

func (deaf) Close() error { return nil }

func TestServeTakesTheRealDesk(t *testing.T) {
	t.Parallel()
	var out closingBuffer
	o := Options{Desk: completion.Desk{Folder: t.TempDir()}, Version: "v9"}
	if err := Serve(t.Context(), io.NopCloser(strings.NewReader("noise\n"+initialize)), &out, o); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"version":"v9"`) {
		t.Errorf("output is %s", out.String())
	}
}

// talk is a conversation with a server, line by line.
type talk struct {
	t    *testing.T
	in   io.WriteCloser
	out  *bufio.Reader
	done chan error
}

func newTalk(t *testing.T, f *fake) *talk {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	c := &talk{t: t, in: toServer, out: bufio.NewReader(fromServer), done: make(chan error, 1)}
	go func() { c.done <- serveFake(t.Context(), in, out, f) }()
	// A server that stops in the middle fails the test, not the whole run.
	late := time.AfterFunc(30*time.Second, func() {
		_ = toServer.CloseWithError(errLate)
		_ = fromServer.CloseWithError(errLate)
	})
	t.Cleanup(func() {
		late.Stop()
		_ = toServer.Close()
	})
	return c
}

func (c *talk) send(lines ...string) {
	c.t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(c.in, line+"\n"); err != nil {
			c.t.Fatalf("send %.80q: %v", line, err)
		}
	}
}

func (c *talk) receive(n int) []string {
	c.t.Helper()
	var got []string
	for range n {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			c.t.Fatalf("receive: %v", err)
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			c.t.Fatalf("output is no message: %q", line)
		}
		got = append(got, m.String())
	}
	return got
}

func (c *talk) end() {
	c.t.Helper()
	if err := c.in.Close(); err != nil {
		c.t.Fatal(err)
	}
	if rest, err := io.ReadAll(c.out); err != nil || len(rest) > 0 {
		c.t.Errorf("after the end: %q, %v", rest, err)
	}
	if err := <-c.done; err != nil {
		c.t.Errorf("serve: %v", err)
	}
}

func FuzzSieve(f *testing.F) {
	for _, seed := range []string{
		initialize + "\n" + askStatus, "noise\n\n{}\n" + discover, `[{"jsonrpc":"2.0","id":5,"method":"ping"}]`,
		`{"id":1.5,"method":"x"}`, `{"ID":1,"method":null}`, "\xef\xbb\xbf" + initialize, `{"jsonrpc":"2.0","id":{},"method":"a"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		s := newSieve(io.NopCloser(bytes.NewReader(data)), &out, slog.New(slog.DiscardHandler))
		passed, err := io.ReadAll(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, side := range [][]byte{passed, out.Bytes()} {
			for line := range bytes.Lines(side) {
				if _, err := jsonrpc.DecodeMessage(line); err != nil || !bytes.HasSuffix(line, []byte("\n")) {
					t.Fatalf("%q made %q: %v", data, line, err)
				}
			}
		}
	})
}
