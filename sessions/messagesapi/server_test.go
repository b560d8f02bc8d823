package messagesapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const promptBody = `{"model":"m","stream":true,"messages":[{"role":"user","content":"hello"}]}`

// post sends one request as the CLI does. The response's body is closed with the test.
func post(t *testing.T, url, body string, header map[string]string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/messages?beta=true", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

// readEvents reads a stream to its end and returns "name data" for each event, with the error that ended it.
func readEvents(t *testing.T, r io.Reader) ([]string, error) {
	t.Helper()
	var events []string
	in := bufio.NewReader(r)
	for {
		name, err := in.ReadString('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return events, err
		}
		data, err := in.ReadString('\n')
		if err != nil {
			return events, err
		}
		if blank, err := in.ReadString('\n'); err != nil || blank != "\n" {
			return events, fmt.Errorf("event %q ends with %q: %v", name, blank, err)
		}
		var typed struct{ Type string }
		if err := json.Unmarshal([]byte(strings.TrimPrefix(data, "data: ")), &typed); err != nil {
			t.Fatalf("data of %q: %v", name, err)
		}
		if got := strings.TrimSpace(strings.TrimPrefix(name, "event: ")); got != typed.Type {
			t.Errorf("event %q has data of type %q", got, typed.Type)
		}
		events = append(events, strings.TrimSpace(strings.TrimPrefix(data, "data: ")))
	}
}

func TestStreamHasTheEventsOfThePublicProtocol(t *testing.T) {
	t.Parallel()
	reply := Blocks(ThinkingBlock("hm"), TextBlock("abcdef"), ToolBlock("Bash", map[string]string{"command": "ls"})).
		Chunked(4).WithUsage(Usage{Input: 1, Output: 2, CacheRead: 3, CacheCreate: 4})
	res := post(t, Start(t, Always(reply)).URL(), promptBody, nil)
	got, err := readEvents(t, res.Body)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"message":{"content":[],"id":"msg_1","model":"m","role":"assistant","stop_reason":null,"stop_sequence":null,"type":"message",` +
			`"usage":{"cache_creation_input_tokens":4,"cache_read_input_tokens":3,"input_tokens":1,"output_tokens":1}},"type":"message_start"}`,
		`{"content_block":{"signature":"","thinking":"","type":"thinking"},"index":0,"type":"content_block_start"}`,
		`{"type":"ping"}`,
		`{"delta":{"thinking":"hm","type":"thinking_delta"},"index":0,"type":"content_block_delta"}`,
		`{"delta":{"signature":"sig_1_0","type":"signature_delta"},"index":0,"type":"content_block_delta"}`,
		`{"index":0,"type":"content_block_stop"}`,
		`{"content_block":{"text":"","type":"text"},"index":1,"type":"content_block_start"}`,
		`{"delta":{"text":"abcd","type":"text_delta"},"index":1,"type":"content_block_delta"}`,
		`{"delta":{"text":"ef","type":"text_delta"},"index":1,"type":"content_block_delta"}`,
		`{"index":1,"type":"content_block_stop"}`,
		`{"content_block":{"id":"toolu_1_2","input":{},"name":"Bash","type":"tool_use"},"index":2,"type":"content_block_start"}`,
		`{"delta":{"partial_json":"{\"co","type":"input_json_delta"},"index":2,"type":"content_block_delta"}`,
		`{"delta":{"partial_json":"mman","type":"input_json_delta"},"index":2,"type":"content_block_delta"}`,
		`{"delta":{"partial_json":"d\":\"","type":"input_json_delta"},"index":2,"type":"content_block_delta"}`,
		`{"delta":{"partial_json":"ls\"}","type":"input_json_delta"},"index":2,"type":"content_block_delta"}`,
		`{"index":2,"type":"content_block_stop"}`,
		`{"delta":{"stop_reason":"tool_use","stop_sequence":null},"type":"message_delta",` +
			`"usage":{"cache_creation_input_tokens":4,"cache_read_input_tokens":3,"input_tokens":1,"output_tokens":2}}`,
		`{"type":"message_stop"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if got, want := res.Header.Get("Content-Type"), "text/event-stream; charset=utf-8"; got != want {
		t.Errorf("content type %q, want %q", got, want)
	}
}

func TestAnswerInOnePiece(t *testing.T) {
	t.Parallel()
	reply := Blocks(TextBlock("hi"), ThinkingBlock("hm"), Block{Type: "tool_use", ID: "mine", Name: "Read", Input: json.RawMessage(`{"a":1}`)}).
		WithStop("max_tokens")
	res := post(t, Start(t, Always(reply)).URL(), `{"model":"m","messages":[]}`, nil)
	var got any
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
		"content": []any{
			map[string]any{"type": "text", "text": "hi"},
			map[string]any{"type": "thinking", "thinking": "hm", "signature": "sig_1_1"},
			map[string]any{"type": "tool_use", "id": "mine", "name": "Read", "input": map[string]any{"a": 1.0}},
		},
		"stop_reason": "max_tokens", "stop_sequence": nil,
		"usage": map[string]any{
			"input_tokens": 100.0, "output_tokens": 20.0, "cache_read_input_tokens": 0.0, "cache_creation_input_tokens": 0.0,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}

func TestLongTextComesWhole(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789é ", 5<<20/13)
	res := post(t, Start(t, Always(Text(long))).URL(), promptBody, nil)
	events, err := readEvents(t, res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, e := range events {
		var d struct{ Delta struct{ Text string } }
		if err := json.Unmarshal([]byte(e), &d); err != nil {
			t.Fatal(err)
		}
		got.WriteString(d.Delta.Text)
	}
	if got.String() != long {
		t.Errorf("%d bytes came, want the %d sent", got.Len(), len(long))
	}
}

func TestFaultsInMidStream(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		reply Reply
		check func(error) bool
	}{
		{"reset", Text("x").ResetAfter(2), func(err error) bool { return errors.Is(err, syscall.ECONNRESET) }},
		{"end", Text("x").EndAfter(2), func(err error) bool { return err == nil }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			res := post(t, Start(t, Always(tc.reply)).URL(), promptBody, nil)
			events, err := readEvents(t, res.Body)
			if !tc.check(err) {
				t.Errorf("stream ended with %v", err)
			}
			if len(events) > 2 {
				t.Errorf("%d events came, want at most 2", len(events))
			}
		})
	}
}

func TestFaultsOfAnswersInOnePiece(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		reply Reply
		want  error
	}{
		{"reset", Text("x").ResetAfter(1), syscall.ECONNRESET},
		{"end", Text("x").EndAfter(1), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			res := post(t, Start(t, Always(tc.reply)).URL(), `{"messages":[]}`, nil)
			body, err := io.ReadAll(res.Body)
			if len(body) != 0 || !errors.Is(err, tc.want) {
				t.Errorf("got body %q and error %v, want none and %v", body, err, tc.want)
			}
		})
	}
}

func TestStallSendsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	s := Start(t, Always(Text("x").StallAfter(2)))
	res := post(t, s.URL(), promptBody, nil)
	in := bufio.NewReader(res.Body)
	for range 6 {
		if _, err := in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	if rest, err := io.ReadAll(in); len(rest) != 0 {
		t.Errorf("after two events came %q (%v)", rest, err)
	}
}

func TestHangEndsWithTheServer(t *testing.T) {
	t.Parallel()
	s := Start(t, Always(Hang()))
	answered := make(chan error, 1)
	var clients sync.WaitGroup
	clients.Go(func() {
		res, err := http.Post(s.URL()+"/v1/messages", "application/json", strings.NewReader(promptBody))
		if err == nil {
			err = fmt.Errorf("answered with status %d", res.StatusCode)
			_ = res.Body.Close()
			answered <- err
		}
	})
	if _, err := s.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s.Close()
	clients.Wait()
	select {
	case err := <-answered:
		t.Error(err)
	default:
	}
}

func TestHangEndsWithTheClient(t *testing.T) {
	t.Parallel()
	s := Start(t, Always(Hang()))
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	clients.Go(func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/v1/messages", strings.NewReader(promptBody))
		if err != nil {
			t.Error(err)
			return
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
			t.Errorf("answered with status %d", res.StatusCode)
		}
	})
	if _, err := s.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	cancel()
	clients.Wait()
}

func TestSlowAnswerIsCutByTheEndOfTheServer(t *testing.T) {
	t.Parallel()
	s := Start(t, Always(Text("x").Slow(time.Hour)))
	answered := make(chan string, 1)
	var clients sync.WaitGroup
	clients.Go(func() {
		res, err := http.Post(s.URL()+"/v1/messages", "application/json", strings.NewReader(promptBody))
		if err != nil {
			return
		}
		defer func() { _ = res.Body.Close() }()
		if body, err := io.ReadAll(res.Body); err == nil {
			answered <- string(body)
		}
	})
	if _, err := s.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	s.Close()
	clients.Wait()
	select {
	case body := <-answered:
		t.Errorf("the answer %q came to an orderly end", body)
	default:
	}
}

func TestSlowAnswersAreWhole(t *testing.T) {
	t.Parallel()
	s := Start(t, Always(Text("abc").Slow(time.Millisecond)))
	events, err := readEvents(t, post(t, s.URL(), promptBody, nil).Body)
	if err != nil || len(events) != 7 {
		t.Errorf("%d events (%v), want 7", len(events), err)
	}
}

func TestStatusReplies(t *testing.T) {
	t.Parallel()
	reset := time.Unix(1_900_000_000, 0)
	for _, tc := range []struct {
		name   string
		reply  Reply
		status int
		kind   string
		header map[string]string
	}{
		{"overloaded", Overloaded(), 529, "overloaded_error", nil},
		{"server error", ServerError(), 500, "api_error", nil},
		{"unauthorized", Unauthorized(), 401, "authentication_error", nil},
		{"credit", CreditTooLow(), 400, "invalid_request_error", nil},
		{
			"rate limit", RateLimited(1500*time.Millisecond, false), 429, "rate_limit_error",
			map[string]string{"retry-after": "2", "x-should-retry": ""},
		},
		{
			"rate limit, final", RateLimited(0, true), 429, "rate_limit_error",
			map[string]string{"retry-after": "", "x-should-retry": "false"},
		},
		{"usage limit", UsageLimit(Window{"five_hour", reset, 1}, reset.Add(-time.Hour)), 429, "rate_limit_error", map[string]string{
			"retry-after":                                      "3600",
			"anthropic-ratelimit-unified-status":               "rejected",
			"anthropic-ratelimit-unified-reset":                "1900000000",
			"anthropic-ratelimit-unified-representative-claim": "five_hour",
			"anthropic-ratelimit-unified-5h-utilization":       "1",
			"anthropic-ratelimit-unified-5h-reset":             "1900000000",
		}},
		{
			"own", APIError(404, "not_found_error", "model: x", map[string]string{"x-own": "1"}).Slow(time.Millisecond), 404, "not_found_error",
			map[string]string{"x-own": "1"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			res := post(t, Start(t, Always(tc.reply)).URL(), promptBody, nil)
			var body struct {
				Type  string
				Error struct{ Type, Message string }
			}
			if err := json.NewDecoder(res.Body).Decode(&body); err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != tc.status || body.Type != "error" || body.Error.Type != tc.kind || body.Error.Message == "" {
				t.Errorf("got status %d and %+v, want status %d and %s", res.StatusCode, body, tc.status, tc.kind)
			}
			for k, want := range tc.header {
				if got := res.Header.Get(k); got != want {
					t.Errorf("header %s is %q, want %q", k, got, want)
				}
			}
		})
	}
}

func TestWindowOfAnAnswer(t *testing.T) {
	t.Parallel()
	plain := Text("ok").WithHeader("x-own", "1")
	warned := plain.WithWindow("allowed_warning", Window{"seven_day", time.Unix(5, 0), 0.93})
	s := Start(t, InOrder(plain, warned))
	first := post(t, s.URL(), promptBody, nil).Header
	second := post(t, s.URL(), promptBody, nil).Header
	for header, want := range map[string][2]string{
		"x-own":                              {"1", "1"},
		"anthropic-ratelimit-unified-status": {"", "allowed_warning"},
		"anthropic-ratelimit-unified-7d-utilization":         {"", "0.93"},
		"anthropic-ratelimit-unified-7d-surpassed-threshold": {"", "0.9"},
	} {
		if got := [2]string{first.Get(header), second.Get(header)}; got != want {
			t.Errorf("header %s is %q, want %q", header, got, want)
		}
	}
}

func TestRecordsRequestsAndOthers(t *testing.T) {
	t.Parallel()
	s := Start(t, Always(Text("ok")))
	if r := s.Requests(); len(r) != 0 {
		t.Fatalf("fresh server has requests %v", r)
	}
	main := map[string]string{"X-Claude-Code-Session-Id": "s1"}
	sub := map[string]string{"X-Claude-Code-Session-Id": "s1", "X-Claude-Code-Agent-Id": "a1"}
	for _, h := range []map[string]string{main, main, sub} {
		post(t, s.URL(), promptBody, h)
	}
	for _, path := range []string{"/", "/api/hello"} {
		res, err := http.Head(s.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("HEAD %s: status %d, want 404", path, res.StatusCode)
		}
	}
	res, err := http.Post(s.URL()+"/v1/messages/count_tokens", "application/json", strings.NewReader("12345678"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	counted, err := io.ReadAll(res.Body)
	if err != nil || string(counted) != "{\"input_tokens\":3}\n" {
		t.Errorf("count_tokens answered %q (%v)", counted, err)
	}

	type seen struct {
		Number, Attempt int
		Sub             bool
	}
	var got []seen
	for _, r := range s.Requests() {
		got = append(got, seen{r.Number, r.Attempt, r.IsSubAgent()})
	}
	if diff := cmp.Diff([]seen{{1, 1, false}, {2, 2, false}, {3, 1, true}}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"HEAD /", "HEAD /api/hello", "POST /v1/messages/count_tokens"}, s.Others()); diff != "" {
		t.Errorf("others (-want +got):\n%s", diff)
	}
}

func TestWaitGivesUpWithItsContext(t *testing.T) {
	t.Parallel()
	s := Start(t, Always(Text("ok")))
	post(t, s.URL(), promptBody, nil)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if r, err := s.Wait(ctx, 1); err != nil || r.Number != 1 {
		t.Errorf("wait for the first: %v, %v", r.Number, err)
	}
	_, err := s.Wait(ctx, 2)
	if !errors.Is(err, cause) || err.Error() != "wait for request 2, 1 came: enough" {
		t.Errorf("wait for the second: %v", err)
	}
}

// recorder is a test that may fail.
type recorder struct {
	*testing.T
	mu     sync.Mutex
	failed []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, fmt.Sprintf(format, args...))
}

func TestWhatFailsTheTest(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name         string
		start        func(TB, Script) *Server
		method, path string
		body         string
		status       int
		want         []string
	}{
		{"probe", StartStrict, http.MethodHead, "/", "", 404, nil},
		{"other path, lenient", Start, http.MethodGet, "/api/x", "", 404, nil},
		{"other path, strict", StartStrict, http.MethodGet, "/api/x", "", 404, []string{"messages api: unexpected request GET /api/x"}},
		{
			"broken request", Start, http.MethodPost, "/v1/messages", "{", 400,
			[]string{"messages api: parse request: unexpected end of JSON input"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tb := &recorder{T: t}
			s := tc.start(tb, Always(Text("ok")))
			req, err := http.NewRequestWithContext(t.Context(), tc.method, s.URL()+tc.path, strings.NewReader(tc.body))
			if err != nil {
				t.Fatal(err)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			s.Close()
			if res.StatusCode != tc.status {
				t.Errorf("status %d, want %d", res.StatusCode, tc.status)
			}
			if diff := cmp.Diff(tc.want, tb.failed); diff != "" {
				t.Errorf("failures (-want +got):\n%s", diff)
			}
		})
	}
}
