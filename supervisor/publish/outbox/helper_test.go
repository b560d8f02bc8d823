package outbox

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"autopilot/supervisor/publish"
	"autopilot/supervisor/publish/webhook"
)

const helperEnv = "OUTBOX_TEST_HELPER"

// TestMain lets the test binary play another process.
func TestMain(m *testing.M) {
	if what := os.Getenv(helperEnv); what != "" {
		if err := helper(what, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func helper(what string, args []string) error {
	o := Outbox{Dir: args[0]}
	switch what {
	case "deliver": // dir: delivers for as long as something waits
		fmt.Println("ready")
		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
			return err
		}
		for {
			if _, err := o.Deliver(context.Background(), hooks, Options{Force: true, Limit: time.Minute}); err != nil {
				return err
			}
			st, err := o.Status(time.Now())
			if err != nil || len(st.Pending) == 0 {
				return err
			}
		}
	case "put": // dir url: puts for ever and prints the number of each that is kept
		target := publish.Target{Service: publish.Webhook, Ref: args[1]}
		for n := 1; ; n++ {
			u := numbered(n)
			u.Subject = "s" + strconv.Itoa(n%7)
			if err := o.Put(target, u); err != nil {
				return err
			}
			fmt.Println(n)
		}
	}
	return errors.New("unknown helper")
}

func hooks(t publish.Target) (publish.Sender, error) { return webhook.New(t, "", nil), nil }

func numbered(n int) publish.Update {
	return publish.Update{
		Subject: "s" + strconv.Itoa(n), RunID: "r", Title: "t", Body: strconv.Itoa(n), State: publish.Running,
		At: noon().Add(time.Duration(n) * time.Second),
	}
}

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, what string, args ...string) *process {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), helperEnv+"="+what)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() { p.kill() })
	return p
}

// kill ends the process the hard way and returns the lines it had still printed.
func (p *process) kill() []string {
	_ = p.cmd.Process.Kill()
	rest, _ := io.ReadAll(p.out)
	_ = p.cmd.Wait()
	lines := strings.Split(string(rest), "\n")
	return lines[:len(lines)-1]
}

// begin waits until a helper is there and lets it go.
func (p *process) begin(t *testing.T) {
	t.Helper()
	if s, err := p.out.ReadString('\n'); err != nil || s != "ready\n" {
		t.Fatalf("helper said %q, %v", s, err)
	}
	if _, err := io.WriteString(p.in, "go\n"); err != nil {
		t.Fatal(err)
	}
}

// place is a target on the web that remembers what has arrived.
type place struct {
	publish.Target

	mu    sync.Mutex
	order []arrival
	keys  map[string]int
	fault func(n int, key string, w http.ResponseWriter, r *http.Request) bool // of the nth request, after it was taken
}

type arrival struct{ key, subject, body string }

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{keys: map[string]int{}}
	srv := httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(srv.Close)
	p.Target = publish.Target{Service: publish.Webhook, Ref: srv.URL + "/hook"}
	return p
}

func (p *place) serve(w http.ResponseWriter, r *http.Request) {
	var e struct{ Subject, Body string }
	if err := json.NewDecoder(r.Body).Decode(&e); err != nil {
		return // a client that was killed while it wrote
	}
	key := r.Header.Get("Idempotency-Key")
	p.mu.Lock()
	again := p.keys[key] > 0
	p.keys[key]++
	if !again {
		p.order = append(p.order, arrival{key, e.Subject, e.Body})
	}
	n, fault := 0, p.fault
	for _, k := range p.keys {
		n += k
	}
	p.mu.Unlock()
	if fault != nil && fault(n, key, w, r) {
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// arrived returns what has arrived, each key once, and how often the most frequent did.
func (p *place) arrived() (list []arrival, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.keys {
		most = max(most, n)
	}
	return append(list, p.order...), most
}

func newOutbox(t *testing.T) Outbox {
	t.Helper()
	return Outbox{Dir: filepath.Join(t.TempDir(), "state")}
}

func put(t *testing.T, o Outbox, target publish.Target, list ...publish.Update) {
	t.Helper()
	for _, u := range list {
		if err := o.Put(target, u); err != nil {
			t.Fatal(err)
		}
	}
}

func status(t *testing.T, o Outbox) Standing {
	t.Helper()
	st, err := o.Status(noon())
	if err != nil {
		t.Fatal(err)
	}
	return st
}
