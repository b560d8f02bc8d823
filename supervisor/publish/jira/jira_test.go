package jira_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"autopilot/supervisor/publish"
	"autopilot/supervisor/publish/entry/entrytest"
	"autopilot/supervisor/publish/jira"
)

const email = "bot@example.com"

func target() publish.Target { return publish.Target{Service: publish.Jira, Ref: "PROJ-7"} }

func newSender(t *testing.T, base string) publish.Sender {
	t.Helper()
	s, err := jira.New(target(), jira.Options{BaseURL: base + "/jira/", Email: email, Token: entrytest.Token})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// user is an account as the cloud shows it, or an own server.
func user(id int, cloud bool) map[string]any {
	if cloud {
		return map[string]any{"accountId": fmt.Sprint("5b10a2844c20165700ede2", id), "displayName": "Bot", "active": true}
	}
	return map[string]any{"key": fmt.Sprint("JIRAUSER", id), "name": fmt.Sprint("user", id), "displayName": "Bot"}
}

func shown(c entrytest.Comment, cloud bool) map[string]any {
	return map[string]any{
		"id": fmt.Sprint(c.ID), "self": fmt.Sprint("https://example.atlassian.net/rest/api/2/issue/10010/comment/", c.ID),
		"author": user(c.Author, cloud), "updateAuthor": user(c.Author, cloud), "body": c.Text,
		"created": "2026-08-01T10:00:00.000+0000", "updated": "2026-08-01T10:00:00.000+0000",
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the other end may have gone
}

func handler(cloud bool) func(t *testing.T, i *entrytest.Issue) http.Handler {
	return func(t *testing.T, i *entrytest.Issue) http.Handler {
		const issue = "/jira/rest/api/2/issue/PROJ-7/comment"
		auth := "Basic " + base64.StdEncoding.EncodeToString([]byte(email+":"+entrytest.Token))
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := r.Header
			if h.Get("Authorization") != auth || h.Get("Accept") != "application/json" || h.Get("Content-Type") != "application/json" || h.Get("User-Agent") != "autopilot" {
				t.Errorf("%s %s: headers %v", r.Method, r.URL, h)
				answer(w, http.StatusBadRequest, nil)
				return
			}
			id := strings.TrimPrefix(r.URL.Path, issue+"/")
			missing := map[string]any{"errorMessages": []string{"Can not find a comment for the id: " + id + "."}, "errors": map[string]string{}}
			switch {
			case r.Method == http.MethodGet && r.URL.Path == "/jira/rest/api/2/myself":
				answer(w, http.StatusOK, user(entrytest.Me, cloud))
			case r.Method == http.MethodGet && r.URL.Path == issue:
				list(t, w, r, i.All(), cloud)
			case r.Method == http.MethodPost && r.URL.Path == issue:
				answer(w, http.StatusCreated, shown(i.Add(entrytest.Me, text(t, r)), cloud))
			case r.Method == http.MethodGet && id != r.URL.Path:
				if c, ok := i.Find(id); ok {
					answer(w, http.StatusOK, shown(c, cloud))
					return
				}
				answer(w, http.StatusNotFound, missing)
			case r.Method == http.MethodPut && id != r.URL.Path:
				if c, ok := i.Edit(id, text(t, r)); ok {
					answer(w, http.StatusOK, shown(c, cloud))
					return
				}
				answer(w, http.StatusNotFound, missing)
			default:
				t.Errorf("unknown request %s %s", r.Method, r.URL)
				answer(w, http.StatusNotFound, nil)
			}
		})
	}
}

// text is the comment of a request, as it comes back from the editor of the cloud, which
// takes markup apart and puts it together again.
func text(t *testing.T, r *http.Request) string {
	var in map[string]string
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in) != 1 || in["body"] == "" {
		t.Errorf("body of %s %s: %v, %v", r.Method, r.URL, in, err)
	}
	return strings.TrimRight(in["body"], "\n")
}

func list(t *testing.T, w http.ResponseWriter, r *http.Request, all []entrytest.Comment, cloud bool) {
	q := r.URL.Query()
	start, err := strconv.Atoi(q.Get("startAt"))
	if err != nil || q.Get("orderBy") != "-created" {
		t.Errorf("list with %v", q)
	}
	most, _ := strconv.Atoi(q.Get("maxResults"))
	most = min(most, 100)
	slices.Reverse(all)
	out := []any{}
	for _, c := range all[min(start, len(all)):min(start+most, len(all))] {
		out = append(out, shown(c, cloud))
	}
	answer(w, http.StatusOK, map[string]any{"startAt": start, "maxResults": most, "total": len(all), "comments": out})
}

func TestSender(t *testing.T) {
	t.Parallel()
	for name, cloud := range map[string]bool{"cloud": true, "server": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entrytest.Run(t, entrytest.Service{
				Name: publish.Jira, New: newSender, Handler: handler(cloud), First: 3, Limit: jira.MaxText,
				WhoAmI: func(r *http.Request) bool { return r.URL.Path == "/jira/rest/api/2/myself" },
				Lists: func(r *http.Request) bool {
					return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/comment")
				},
				Text: func(body string) string { return body },
			})
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	good := jira.Options{BaseURL: "https://example.atlassian.net", Email: email, Token: "x"}
	change := func(f func(*jira.Options)) jira.Options {
		o := good
		f(&o)
		return o
	}
	for want, c := range map[string]struct {
		target publish.Target
		o      jira.Options
	}{
		"set JIRA_URL":       {target(), change(func(o *jira.Options) { o.BaseURL = "" })},
		"set JIRA_EMAIL":     {target(), change(func(o *jira.Options) { o.Email = "" })},
		"set JIRA_API_TOKEN": {target(), change(func(o *jira.Options) { o.Token = " " })},
		"without TLS":        {target(), change(func(o *jira.Options) { o.BaseURL = "http://jira.example.com" })},
		"a password":         {target(), change(func(o *jira.Options) { o.BaseURL = "https://me:pw@jira.example.com" })},
		"line end":           {target(), change(func(o *jira.Options) { o.Email = "a\nb" })},
		"not an issue":       {publish.Target{Service: publish.Jira, Ref: "../x-1"}, good},
	} {
		if _, err := jira.New(c.target, c.o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%v, %+v) = %v, want one that says %q", c.target, c.o, err, want)
		}
	}
	s, err := jira.New(target(), good)
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Preview("k", entrytest.Update(1)); !strings.HasPrefix(p, "POST https://example.atlassian.net/rest/api/2/issue/PROJ-7/comment\n\n{") {
		t.Errorf("preview = %s", p)
	}
}

func TestPreviewWithoutAToken(t *testing.T) {
	t.Parallel()
	p, err := jira.Preview(target(), jira.Options{}, "k", entrytest.Update(1))
	if err != nil || !strings.HasPrefix(p, "POST https://JIRA_URL/rest/api/2/issue/PROJ-7/comment\n\n{") {
		t.Errorf("preview = %s, %v", p, err)
	}
	if _, err := jira.Preview(publish.Target{Service: publish.File, Ref: "x.md"}, jira.Options{}, "k", entrytest.Update(1)); err == nil {
		t.Error("a target of another service was taken")
	}
}
