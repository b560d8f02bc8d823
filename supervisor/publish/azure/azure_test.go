package azure_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"autopilot/supervisor/publish"
	"autopilot/supervisor/publish/azure"
	"autopilot/supervisor/publish/entry/entrytest"
)

func target() publish.Target {
	return publish.Target{Service: publish.Azure, Owner: "Fabrikam", Project: "My Project", Number: 299}
}

func newSender(t *testing.T, base string) publish.Sender {
	t.Helper()
	s, err := azure.New(target(), azure.Options{BaseURL: base + "/tfs", Token: entrytest.Token})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func user(id int) map[string]any {
	return map[string]any{
		"displayName": "Jamal", "id": fmt.Sprintf("D291B0C4-A05C-4EA6-8DF1-%012d", id), "uniqueName": "jamal@example.com",
		"_links": map[string]any{"avatar": map[string]any{"href": "https://dev.azure.com/x"}},
	}
}

func shown(c entrytest.Comment) map[string]any {
	return map[string]any{
		"workItemId": 299, "id": c.ID, "version": 1, "text": c.Text, "format": "html", "createdBy": user(c.Author),
		"createdDate": "2026-08-01T10:00:00.12Z", "modifiedBy": user(c.Author), "modifiedDate": "2026-08-01T10:00:00Z",
		"url": fmt.Sprint("https://dev.azure.com/fabrikam/_apis/wit/workItems/299/comments/", c.ID),
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8; api-version=7.1-preview.4")
	w.Header().Set("X-TFS-Session", "0d1b2a5c-0000-0000-0000-000000000000")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the other end may have gone
}

func failure(status int, message string, w http.ResponseWriter) {
	answer(w, status, map[string]any{
		"$id": "1", "innerException": nil, "message": message, "typeName": "Microsoft.TeamFoundation.X", "typeKey": "X", "errorCode": 0, "eventId": 3000,
	})
}

// locations is what the service says of its resources, as far as they are used.
func locations() any {
	of := func(id, area, name, route, version string, resource int) map[string]any {
		return map[string]any{
			"id": id, "area": area, "resourceName": name, "routeTemplate": route, "resourceVersion": resource,
			"minVersion": "1.0", "maxVersion": version, "releasedVersion": "0.0",
		}
	}
	all := []any{
		of("00d9565f-ed9c-4a06-9a50-00e7896ccab4", "Location", "ConnectionData", "_apis/{resource}", "7.2", 1),
		of("608aac0a-32e1-4493-a863-b9cf4566d257", "wit", "comments", "{project}/_apis/{area}/workItems/{workItemId}/{resource}/{commentId}", "7.2", 4),
	}
	return map[string]any{"count": len(all), "value": all}
}

const comments = "/tfs/Fabrikam/My%20Project/_apis/wit/workItems/299/comments"

func checked(t *testing.T, r *http.Request) bool {
	accept := "application/json;api-version=7.1-preview.4"
	switch {
	case r.Method == http.MethodOptions:
		accept = "application/json"
	case strings.HasSuffix(r.URL.Path, "ConnectionData"):
		accept = "application/json;api-version=7.1-preview.1"
	}
	want := map[string]string{
		"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(":"+entrytest.Token)), "Accept": accept,
		"X-TFS-FedAuthRedirect": "Suppress", "Content-Type": "",
	}
	if r.Method == http.MethodPost || r.Method == http.MethodPatch {
		want["Content-Type"] = "application/json;charset=utf-8"
	}
	ok := true
	for k, v := range want {
		if got := r.Header.Get(k); got != v {
			t.Errorf("%s %s: %s is %q, want %q", r.Method, r.URL, k, got, v)
			ok = false
		}
	}
	if !strings.HasSuffix(r.UserAgent(), " autopilot") {
		t.Errorf("user agent %q", r.UserAgent())
	}
	return ok
}

func handler(t *testing.T, i *entrytest.Issue) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !checked(t, r) {
			failure(http.StatusBadRequest, "headers", w)
			return
		}
		path := r.URL.EscapedPath()
		id := strings.TrimPrefix(path, comments+"/")
		switch {
		case r.Method == http.MethodOptions && path == "/tfs/Fabrikam/_apis":
			answer(w, http.StatusOK, locations())
		case r.Method == http.MethodGet && path == "/tfs/Fabrikam/_apis/ConnectionData" && r.URL.Query().Get("connectOptions") == "none":
			answer(w, http.StatusOK, map[string]any{
				"authenticatedUser": map[string]any{"id": strings.ToLower(user(entrytest.Me)["id"].(string)), "providerDisplayName": "Jamal", "isActive": true, "properties": map[string]any{}},
				"instanceId":        "d6245f20-2af8-44f4-9451-8107cb2767db", "deploymentType": "hosted",
			})
		case r.Method == http.MethodGet && path == comments:
			list(t, w, r, i.All())
		case r.Method == http.MethodPost && path == comments:
			answer(w, http.StatusOK, shown(i.Add(entrytest.Me, text(t, r))))
		case r.Method == http.MethodGet && id != path:
			if c, ok := i.Find(id); ok {
				answer(w, http.StatusOK, shown(c))
				return
			}
			failure(http.StatusNotFound, "no such comment", w)
		case r.Method == http.MethodPatch && id != path:
			if c, ok := i.Edit(id, text(t, r)); ok {
				answer(w, http.StatusOK, shown(c))
				return
			}
			failure(http.StatusNotFound, "no such comment", w)
		default:
			t.Errorf("unknown request %s %s", r.Method, r.URL)
			failure(http.StatusNotFound, "unknown", w)
		}
	})
}

func text(t *testing.T, r *http.Request) string {
	var in map[string]string
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in) != 1 || in["text"] == "" || r.URL.RawQuery != "format=html" {
		t.Errorf("body of %s %s: %v, %v", r.Method, r.URL, in, err)
	}
	return in["text"]
}

func list(t *testing.T, w http.ResponseWriter, r *http.Request, all []entrytest.Comment) {
	q := r.URL.Query()
	top, _ := strconv.Atoi(q.Get("$top"))
	if top < 1 || top > 200 || q.Get("order") != "desc" {
		t.Errorf("list with %v", q)
	}
	start := 0
	if token := q.Get("continuationToken"); token != "" {
		var err error
		if start, err = strconv.Atoi(strings.TrimPrefix(token, "at/")); err != nil {
			t.Errorf("list with %v", q)
		}
	}
	slices.Reverse(all)
	page := []any{}
	for _, c := range all[min(start, len(all)):min(start+top, len(all))] {
		page = append(page, shown(c))
	}
	out := map[string]any{"totalCount": len(all), "count": len(page), "comments": page}
	if start+top < len(all) {
		out["continuationToken"] = fmt.Sprint("at/", start+top)
		out["nextPage"] = "https://elsewhere.example.com/"
	}
	answer(w, http.StatusOK, out)
}

func TestSender(t *testing.T) {
	t.Parallel()
	entrytest.Run(t, entrytest.Service{
		Name: publish.Azure, New: newSender, Handler: handler, First: 4, Limit: azure.MaxText,
		WhoAmI: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "ConnectionData") },
		Lists: func(r *http.Request) bool {
			return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/comments")
		},
		Text: func(body string) string { return body },
	})
}

// A second sender of the process asks no more for the resources there are.
func TestLocationsAreAskedOnce(t *testing.T) {
	t.Parallel()
	srv := entrytest.Serve(t, handler)
	n := map[string]int{}
	for i := range 3 {
		if _, err := newSender(t, srv.URL).Send(t.Context(), fmt.Sprint("k", i), entrytest.Update(i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range srv.Requests() {
		n[r.Method]++
	}
	if n[http.MethodOptions] != 1 || n[http.MethodGet] != 6 || n[http.MethodPost] != 1 || n[http.MethodPatch] != 2 {
		t.Errorf("requests of three senders: %v", n)
	}
}

// A token that is not known is answered with a page to sign in.
func TestSignIn(t *testing.T) {
	t.Parallel()
	srv := entrytest.Serve(t, handler)
	srv.Instead(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodOptions {
			return false
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(http.StatusNonAuthoritativeInfo)
		fmt.Fprint(w, "<html>Sign In</html>")
		return true
	})
	_, err := newSender(t, srv.URL).Send(t.Context(), "k1", entrytest.Update(1))
	e, ok := errors.AsType[*publish.SendError](err)
	if !ok || !e.Permanent || e.Status != http.StatusUnauthorized || !strings.Contains(e.Error(), "AZURE_DEVOPS_TOKEN") {
		t.Errorf("sign-in page: %+v (%v)", e, err)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		target publish.Target
		o      azure.Options
	}{
		"set AZURE_DEVOPS_TOKEN": {target(), azure.Options{Token: " "}},
		"AZURE_DEVOPS_URL":       {target(), azure.Options{Token: "x", BaseURL: "dev.azure.com"}},
		"without TLS":            {target(), azure.Options{Token: "x", BaseURL: "http://tfs.example.com"}},
		"not a work item":        {publish.Target{Service: publish.GitHub, Owner: "a", Project: "b", Number: 1}, azure.Options{Token: "x"}},
		"an organization":        {publish.Target{Service: publish.Azure, Owner: "..", Project: "b", Number: 1}, azure.Options{Token: "x"}},
	} {
		if _, err := azure.New(c.target, c.o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New(%v, %+v) = %v, want one that says %q", c.target, c.o, err, want)
		}
	}
	s, err := azure.New(target(), azure.Options{Token: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Preview("k", entrytest.Update(1)); !strings.HasPrefix(p, "POST https://dev.azure.com/Fabrikam/My%20Project/_apis/wit/workItems/299/comments?format=html\n\n{") {
		t.Errorf("preview = %s", p)
	}
}

func TestPreviewWithoutAToken(t *testing.T) {
	t.Parallel()
	p, err := azure.Preview(target(), azure.Options{}, "k", entrytest.Update(1))
	if err != nil || !strings.HasPrefix(p, "POST https://dev.azure.com/Fabrikam/My%20Project/_apis/wit/workItems/299/comments?format=html\n\n{") {
		t.Errorf("preview = %s, %v", p, err)
	}
	if _, err := azure.Preview(publish.Target{Service: publish.File, Ref: "x.md"}, azure.Options{}, "k", entrytest.Update(1)); err == nil {
		t.Error("a target of another service was taken")
	}
}
