package serve_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"autopilot/cmd/internal/serve"
)

// said is a log that may be read while it is written.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// TestWhoHangsUpAsksForNothing: a request whose sender is gone could be a session's, which
// hides in this way.
func TestWhoHangsUpAsksForNothing(t *testing.T) {
	t.Parallel()
	if !known() {
		t.Skip("this system does not tell which process asks")
	}
	m, log := night(), &said{}
	o := options(m)
	o.Inside = func(context.Context, int) string { return "" }
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	run(t, serve.New(o), l)
	w := web{machine: m, url: "http://" + l.Addr().String(), client: http.DefaultClient}
	body := "x=y"
	if form := regexp.MustCompile(`name="form" value="([^"]+)"`).FindStringSubmatch(w.get(t, runPath(busy)).body); form != nil {
		body = "form=" + form[1]
	}
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(log.String(), "refused what nobody can be told to have asked for"); {
		if time.Now().After(deadline) {
			t.Fatalf("nothing was refused: %s", log)
		}
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "POST %s/stop HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s",
			runPath(busy), l.Addr(), secret, len(body), body)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // between two tries; the server is as fast as it is
	}
}
