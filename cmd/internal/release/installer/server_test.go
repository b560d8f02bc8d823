package installer

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// loader is a way to download.
type loader struct {
	name  string
	small bool // it is not trusted with https
	world func(*testing.T) *world
}

// loaders are curl, wget, and the wget of a small system that has nothing but busybox.
func loaders() []loader {
	only := func(t *testing.T, w *world, tools ...string) *world {
		t.Helper()
		w.path = filepath.Join(w.root, "bin")
		for _, tool := range tools {
			w.link(tool)
		}
		return w
	}
	tools := strings.Fields("awk cat chmod cp find grep gzip head mkdir mktemp mv rm rmdir sha256sum tail tar tr uname wc sh")
	return []loader{
		{name: "curl", world: func(t *testing.T) *world {
			return only(t, newWorld(t, []string{need(t, "dash")}), append(tools, "curl")...)
		}},
		{name: "wget", world: func(t *testing.T) *world {
			return only(t, newWorld(t, []string{need(t, "dash")}), append(tools, "wget")...)
		}},
		{name: "small", small: true, world: func(t *testing.T) *world {
			w := newWorld(t, []string{need(t, "busybox"), "sh"})
			w.path = filepath.Join(w.root, "bin")
			for _, tool := range append(tools, "wget", "timeout") {
				w.linkTo(need(t, "busybox"), tool)
			}
			return w
		}},
	}
}

func (w *world) link(tool string) { w.linkTo(need(w.T, tool), tool) }

func (w *world) linkTo(path, tool string) {
	w.Helper()
	if err := os.MkdirAll(w.path, 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.Symlink(path, filepath.Join(w.path, tool)); err != nil {
		w.Fatal(err)
	}
}

func TestFromAServer(t *testing.T) {
	t.Parallel()
	if !full() {
		t.Skip("part of 'make package-test'")
	}
	archive := "/v1.0.0/" + archiveName("1.0.0") + ".tar.gz"
	at := func(path string, h http.HandlerFunc) func(*world) http.Handler {
		return func(w *world) http.Handler {
			mux := http.NewServeMux()
			mux.Handle("/", http.FileServer(http.Dir(w.site)))
			mux.HandleFunc(path, h)
			return mux
		}
	}
	tests := []struct {
		name    string
		handler func(*world) http.Handler
		code    int
		want    string
		not     string // a loader that cannot be kept from it
	}{
		{"good", func(w *world) http.Handler { return http.FileServer(http.Dir(w.site)) }, 0, "autopilot 1.0.0 is at ", ""},
		{"nothing there", func(*world) http.Handler { return http.NotFoundHandler() }, 1, "there are no releases at ", ""},
		{"no archive", at(archive, http.NotFound), 1, "there is no v1.0.0/", ""},
		{"a broken server", at(archive, func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(500) }), 1, "cannot download v1.0.0/", ""},
		{"half an archive", at(archive, func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Length", "100000")
			_, _ = rw.Write(make([]byte, 1000))
		}), 1, "cannot download v1.0.0/", ""},
		{"an archive that never ends to come", at(archive, func(rw http.ResponseWriter, r *http.Request) {
			_, _ = rw.Write(make([]byte, 1000))
			_ = http.NewResponseController(rw).Flush()
			<-r.Context().Done()
		}), 1, "cannot download v1.0.0/", ""},
		{"a server that says nothing", at("/latest.txt", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), 1, "cannot download latest.txt", ""},
		{"sent elsewhere", at("/latest.txt", func(rw http.ResponseWriter, r *http.Request) {
			http.Redirect(rw, r, "/v1.0.0/SHA256SUMS", http.StatusFound)
		}), 1, "cannot download latest.txt", "small"},
		{"control characters", at("/latest.txt", func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("1.0.0\x1b[2J\n")) }), 1, "does not name a version", ""},
	}
	for _, tt := range tests {
		for _, l := range loaders() {
			if l.name == tt.not {
				continue
			}
			t.Run(tt.name+"/"+l.name, func(t *testing.T) {
				t.Parallel()
				w := l.world(t)
				w.release("1.0.0", good("1.0.0"))
				before := w.tree(w.home)
				server := httptest.NewServer(tt.handler(w))
				defer server.Close()
				w.env = []string{"http_proxy=http://127.0.0.1:9"}
				got := w.run("--from", server.URL+"/", "--timeout", "3")
				w.want(got, tt.code, tt.want)
				if strings.Contains(got.err, "\x1b") {
					t.Errorf("it repeats control characters: %q", got.err)
				}
				if diff := cmp.Diff(before, w.tree(w.home)); (diff != "") != (tt.code == 0) {
					t.Errorf("exit status %d, and the home:\n%s", tt.code, diff)
				}
			})
		}
	}
}

func TestFromAServerWithTLS(t *testing.T) {
	t.Parallel()
	if !full() {
		t.Skip("part of 'make package-test'")
	}
	for _, l := range loaders() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			w := l.world(t)
			w.release("1.0.0", good("1.0.0"))
			plain := httptest.NewServer(http.FileServer(http.Dir(w.site)))
			defer plain.Close()
			mux := http.NewServeMux()
			mux.Handle("/", http.FileServer(http.Dir(w.site)))
			mux.Handle("/moved/", http.RedirectHandler("/latest.txt", http.StatusFound))
			mux.Handle("/down/", http.RedirectHandler(plain.URL+"/latest.txt", http.StatusFound))
			server := httptest.NewUnstartedServer(mux)
			server.Config.ErrorLog = log.New(io.Discard, "", 0) // it would say that it is not trusted
			server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
			server.StartTLS()
			defer server.Close()
			if l.small {
				w.want(w.run("--from", server.URL), 1, "this wget may not check certificates")
				return
			}
			w.want(w.run("--from", server.URL), 1, "cannot download latest.txt") // nobody vouches for its certificate
			pemText := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
			w.put("ca.pem", string(pemText), 0o644)
			w.put("wgetrc", "ca_certificate = "+filepath.Join(w.root, "ca.pem")+"\n", 0o644)
			w.env = []string{"CURL_CA_BUNDLE=" + filepath.Join(w.root, "ca.pem"), "WGETRC=" + filepath.Join(w.root, "wgetrc")}
			w.want(w.run("--from", server.URL+"/down"), 1, "cannot download latest.txt")
			w.want(w.run("--from", server.URL+"/moved"), 1, "does not") // it is followed, and then comes what is no list of sums
			if left := w.tree(w.home); len(left) > 0 {
				t.Errorf("there is %v", left)
			}
			w.want(w.run("--from", server.URL), 0, "autopilot 1.0.0 is at ")
		})
	}
}

func TestBreakingOff(t *testing.T) {
	t.Parallel()
	if !full() {
		t.Skip("part of 'make package-test'")
	}
	for _, l := range loaders() {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			w := l.world(t)
			asked := make(chan struct{}, 10)
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				asked <- struct{}{}
				<-r.Context().Done()
			}))
			defer server.Close()
			c := w.command("--from", server.URL, "--timeout", "300")
			c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			var words bytes.Buffer
			c.Stderr = &words
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			var wg sync.WaitGroup
			wg.Go(func() { ended <- c.Wait() })
			select {
			case <-asked:
				if err := syscall.Kill(-c.Process.Pid, syscall.SIGTERM); err != nil {
					t.Error(err)
				}
			case <-t.Context().Done():
			case err := <-ended:
				ended <- err
			}
			wg.Wait()
			if err := <-ended; err == nil || c.ProcessState.ExitCode() != 143 {
				t.Errorf("it ends with %v and says %q, want exit status 143", err, words.String())
			}
			w.noLitter()
			if left := w.tree(w.home); len(left) > 0 {
				t.Errorf("there is %v", left)
			}
		})
	}
}

// The sums stand in two forms: of text and of binary files.
func TestSumsOfBinaryFiles(t *testing.T) {
	t.Parallel()
	inShells(t, func(w *world) {
		w.release("1.0.0", good("1.0.0"))
		name := filepath.Join(w.site, "v1.0.0", "SHA256SUMS")
		data, err := os.ReadFile(name)
		if err != nil {
			w.Fatal(err)
		}
		w.put("releases/v1.0.0/SHA256SUMS", strings.ReplaceAll(string(data), "  ", " *"), 0o644)
		w.want(w.install(), 0, fmt.Sprintf("autopilot 1.0.0 is at %s/.local", w.home))
	})
}
