package github_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"autopilot/supervisor/publish"
	"autopilot/supervisor/publish/entry/entrytest"
	"autopilot/supervisor/publish/github"
)

func target() publish.Target {
	return publish.Target{Service: publish.GitHub, Owner: "octo", Project: "hello.world", Number: 7}
}

func newSender(t *testing.T, base string) publish.Sender {
	t.Helper()
	s, err := github.New(target(), github.Options{BaseURL: base + "/api/v3", Token: entrytest.Token})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func user(id int) map[string]any {
	return map[string]any{"login": fmt.Sprint("user", id), "id": id, "type": "User"}
}

func shown(c entrytest.Comment) map[string]any {
	return map[string]any{
		"id": c.ID, "body": c.Text, "user": user(c.Author), "created_at": "2026-08-01T10:00:00Z", "updated_at": "2026-08-01T10:00:00Z",
		"html_url": fmt.Sprintf("https://github.com/octo/hello.world/issues/7#issuecomment-%d", c.ID),
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the other end may have gone
}

// checked refuses what GitHub would not take.
func checked(t *testing.T, r *http.Request) bool {
	want := map[string]string{
		"Authorization": "Bearer " + entrytest.Token, "X-Github-Api-Version": "2022-11-28", "User-Agent": "autopilot",
	}
	if r.Method != http.MethodGet {
		want["Content-Type"] = "application/json"
	}
	ok := true
	for k, v := range want {
		if got := r.Header.Get(k); got != v {
			t.Errorf("%s %s: %s is %q, want %q", r.Method, r.URL, k, got, v)
			ok = false
		}
	}
	if !strings.HasPrefix(r.Header.Get("Accept"), "application/vnd.github.") {
		t.Errorf("%s %s: Accept is %q", r.Method, r.URL, r.Header.Get("Accept"))
		ok = false
	}
	return ok
}

func handler(t *testing.T, i *entrytest.Issue) http.Handler {
	const issue, comments = "/api/v3/repos/octo/hello.world/issues/7/comments", "/api/v3/repos/octo/hello.world/issues/comments/"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !checked(t, r) {
			answer(w, http.StatusBadRequest, nil)
			return
		}
		id := strings.TrimPrefix(r.URL.Path, comments)
		switch {
		case r.Method == http.MethodGet && r.URL.Path == "/api/v3/user":
			answer(w, http.StatusOK, user(entrytest.Me))
		case r.Method == http.MethodGet && r.URL.Path == issue:
			list(w, r, i.All())
		case r.Method == http.MethodPost && r.URL.Path == issue:
			answer(w, http.StatusCreated, shown(i.Add(entrytest.Me, text(t, r))))
		case r.Method == http.MethodGet && id != r.URL.Path:
			if c, ok := i.Find(id); ok {
				answer(w, http.StatusOK, shown(c))
				return
			}
			answer(w, http.StatusNotFound, map[string]string{"message": "Not Found"})
		case r.Method == http.MethodPatch && id != r.URL.Path:
			if c, ok := i.Edit(id, text(t, r)); ok {
				answer(w, http.StatusOK, shown(c))
				return
			}
			answer(w, http.StatusNotFound, map[string]string{"message": "Not Found"})
		default:
			t.Errorf("unknown request %s %s", r.Method, r.URL)
			answer(w, http.StatusNotFound, nil)
		}
	})
}

func text(t *testing.T, r *http.Request) string {
	var in map[string]string
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in) != 1 || in["body"] == "" {
		t.Errorf("body of %s %s: %v, %v", r.Method, r.URL, in, err)
	}
	return in["body"]
}

// list answers as GitHub does: pages from the oldest on, and links to others.
func list(w http.ResponseWriter, r *http.Request, all []entrytest.Comment) {
	per, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	per, page = min(max(per, 1), 100), max(page, 1)
	last := max((len(all)+per-1)/per, 1)
	var links []string
	link := func(n int, rel string) {
		links = append(links, fmt.Sprintf(`<https://api.github.com/repositories/1/issues/7/comments?per_page=%d&page=%d>; rel=%q`, per, n, rel))
	}
	if page > 1 {
		link(page-1, "prev")
		link(1, "first")
	}
	if page < last {
		link(page+1, "next")
		link(last, "last")
	}
	if links != nil {
		w.Header().Set("Link", strings.Join(links, ", "))
	}
	out := []any{}
	for _, c := range all[min((page-1)*per, len(all)):min(page*per, len(all))] {
		out = append(out, shown(c))
	}
	answer(w, http.StatusOK, out)
}

func service() entrytest.Service {
	return entrytest.Service{
		Name: publish.GitHub, New: newSender, Handler: handler, First: 3, Limit: github.MaxText,
		WhoAmI: func(r *http.Request) bool { return r.URL.Path == "/api/v3/user" },
		Lists: func(r *http.Request) bool {
			return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/issues/7/comments")
		},
		Text: func(body string) string { return body },
	}
}

func TestSender(t *testing.T) {
	t.Parallel()
	entrytest.Run(t, service())
}

// A repository with 500 comments is searched from the newest page backwards.
func TestNewestFirst(t *testing.T) {
	t.Parallel()
	srv := entrytest.Serve(t, handler)
	for range 450 {
		srv.Issue.Add(entrytest.Person, "hello")
	}
	if _, err := newSender(t, srv.URL).Send(t.Context(), "k1", entrytest.Update(1)); err != nil {
		t.Fatal(err)
	}
	srv.Requests()
	to := newSender(t, srv.URL)
	if _, err := to.Send(t.Context(), "k2", entrytest.Update(2)); err != nil {
		t.Fatal(err)
	}
	if all := srv.Requests(); len(all) != 4 || !strings.Contains(all[2].URL, "page=5") {
		t.Errorf("requests %v, want user, first page, last page, edit", all)
	}
	if _, err := to.Send(t.Context(), "k3", entrytest.Update(3)); err != nil {
		t.Fatal(err)
	}
	if all := srv.Requests(); len(all) != 2 {
		t.Errorf("requests %v, want the comment and its edit", all)
	}
}

// A limit that the library remembers keeps its moment, though nobody is asked.
func TestRememberedLimits(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(20 * time.Minute).Truncate(time.Second)
	for name, c := range map[string]struct {
		status int
		header map[string]string
		body   string
		want   time.Time
	}{
		"primary": {
			http.StatusForbidden,
			map[string]string{"X-RateLimit-Limit": "5000", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(at.Unix())},
			`{"message":"API rate limit exceeded"}`, at,
		},
		"secondary": {
			http.StatusForbidden,
			map[string]string{"Retry-After": "1200"},
			`{"message":"You have exceeded a secondary rate limit","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`, at,
		},
		"secondary without a time": {
			http.StatusTooManyRequests, nil,
			`{"message":"You have exceeded a secondary rate limit","documentation_url":"https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits"}`,
			time.Now().Add(time.Minute),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := entrytest.Serve(t, handler)
			srv.Instead(func(w http.ResponseWriter, _ *http.Request) bool {
				for k, v := range c.header {
					w.Header().Set(k, v)
				}
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
				return true
			})
			to := newSender(t, srv.URL)
			for i := range 2 {
				_, err := to.Send(t.Context(), "k1", entrytest.Update(1))
				e, ok := errors.AsType[*publish.SendError](err)
				if !ok || e.Permanent || e.Status != c.status || e.RetryAt.Sub(c.want).Abs() > 30*time.Second {
					t.Errorf("try %d: %+v (%v), want to come back at %v", i, e, err, c.want)
				}
			}
			if n := len(srv.Requests()); c.header != nil && n != 1 {
				t.Errorf("%d requests, want one", n)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	good := github.Options{Token: "x"}
	for want, c := range map[string]struct {
		target publish.Target
		o      github.Options
	}{
		"GITHUB_TOKEN":    {target(), github.Options{}},
		"GH_TOKEN":        {target(), github.Options{Token: "  "}},
		"a blank":         {target(), github.Options{Token: "a\nb"}},
		"GITHUB_API_URL":  {target(), github.Options{Token: "x", BaseURL: "api.github.com"}},
		"without TLS":     {target(), github.Options{Token: "x", BaseURL: "http://github.example.com"}},
		"a password":      {target(), github.Options{Token: "x", BaseURL: "https://me:pw@github.example.com"}},
		"not an address":  {target(), github.Options{Token: "x", BaseURL: "https://me:p%zw@github.example.com"}},
		"not an issue":    {publish.Target{Service: publish.Jira, Ref: "A-1"}, good},
		"of a repository": {publish.Target{Service: publish.GitHub, Owner: "..", Project: "x", Number: 1}, good},
		"a/b?c":           {publish.Target{Service: publish.GitHub, Owner: "a", Project: "b?c", Number: 1}, good},
	} {
		_, err := github.New(c.target, c.o)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "pw") {
			t.Errorf("New(%v, %+v) = %v, want one that says %q", c.target, c.o, err, want)
		}
	}
	s, err := github.New(target(), good)
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Preview("k", entrytest.Update(1)); !strings.HasPrefix(p, "POST https://api.github.com/repos/octo/hello.world/issues/7/comments\n\n{") {
		t.Errorf("preview = %s", p)
	}
}

func TestPreviewWithoutAToken(t *testing.T) {
	t.Parallel()
	p, err := github.Preview(target(), github.Options{}, "k", entrytest.Update(1))
	if err != nil || !strings.HasPrefix(p, "POST https://api.github.com/repos/octo/hello.world/issues/7/comments\n\n{") {
		t.Errorf("preview = %s, %v", p, err)
	}
	if _, err := github.Preview(publish.Target{Service: publish.File, Ref: "x.md"}, github.Options{}, "k", entrytest.Update(1)); err == nil {
		t.Error("a target of another service was taken")
	}
}

// A text of a stranger tells nobody, refers to nothing and hides nothing.
func TestTextOfStrangers(t *testing.T) {
	t.Parallel()
	srv := entrytest.Serve(t, handler)
	u := entrytest.Update(1)
	u.Title = "@octo/team <!-- closes #12"
	u.Body = "@bob fixes #12\n<details><!-- ![x](https://x.example/x.png)\n\n- [ ] task\n\n```go\nif a < b { // @bob #12\n```\n"
	if _, err := newSender(t, srv.URL).Send(t.Context(), "k1", u); err != nil {
		t.Fatal(err)
	}
	text := srv.Issue.By(entrytest.Me)[0].Text
	if !strings.Contains(text, "\n```\nif a < b { // @bob #12\n```\n") {
		t.Errorf("the code cannot be read:\n%s", text)
	}
	words, _, _ := strings.Cut(text, "```")
	_, words, _ = strings.Cut(words, "-->") // the mark
	for _, bad := range []string{"@bob", "@octo", "#12", "- [ ]"} {
		if strings.Contains(words, bad) {
			t.Errorf("%q is in\n%s", bad, text)
		}
	}
	if n := strings.Count(words, "<"); n != strings.Count(words, `\<`) || strings.Contains(words, "!"+"[") && !strings.Contains(words, `\![`) {
		t.Errorf("markup is in\n%s", text)
	}
}
