package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// hookSite starts a server that appends what is posted to a file, a line each, and sets
// the variable HOOKSITE to its address. The status that it answers stands in the file
// with ".status" behind its name, 200 without one.
func hookSite(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hooksite FILE")
	}
	name := ts.MkAbs(args[0])
	var mu sync.Mutex
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return
		}
		_, _ = fmt.Fprintf(f, "%s %s key=%s signature=%s %s\n", r.Method, r.URL.Path, r.Header.Get("Idempotency-Key"), r.Header.Get("Webhook-Signature"), body)
		_ = f.Close()
		if data, err := os.ReadFile(name + ".status"); err == nil {
			if code, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
				w.WriteHeader(code)
			}
		}
	}))
	ts.Defer(srv.Close)
	ts.Setenv("HOOKSITE", srv.URL)
}
