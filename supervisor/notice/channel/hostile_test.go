package channel

import (
	"net/url"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"autopilot/supervisor/notice"
)

// hostile is a notice in which every text wants to be more than text.
func hostile() notice.Held {
	evil := "\x1b[31m@everyone @here <!channel> <@U0123> <users/all> <http://evil.example|bank> [bank](http://evil.example) **b** `c` <b>h</b>\x00\u202e" +
		" sk-ant-api03-abcdefgh12345678 \"; rm -rf / #$(id)`id`\r\nX-Injected: yes\r\n\r\n-option \\n\\033 "
	return notice.Held{More: 7, Also: []string{evil}, Notice: notice.Notice{
		Kind: notice.KillSwitch, Repo: "/srv/" + evil, RunID: evil, Title: evil, Command: evil, Text: evil + strings.Repeat("äx@everyone <!here> ", 60_000),
	}}
}

func TestHostileTexts(t *testing.T) {
	t.Parallel()
	limits := map[string]int{"telegram": 4096, "discord": 2000, "ntfy": 4096, "pushover": 1024, "slack": 4000}
	for spec := range specs() {
		name := strings.SplitN(spec, ":", 2)[0]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := serve(t, good)
			if err := send(t, sender(t, rec.host()), parse(t, spec), hostile()); err != nil {
				t.Fatal(err)
			}
			all := rec.requests()
			last := all[len(all)-1]
			title, body := texts(t, name, last)
			both := title + "\n" + body
			for _, c := range both {
				if c != '\n' && unicode.IsControl(c) || c == 0x202e {
					t.Errorf("a control character %q in %q", c, both)
				}
			}
			if !utf8.ValidString(both) || strings.Contains(both, "abcdefgh12345678") || strings.Contains(title, "\n") {
				t.Errorf("title %q, body %q", title, body)
			}
			if last.Header.Get("X-Injected") != "" {
				t.Error("a header was put in")
			}
			if n := utf8.RuneCountInString(body); limits[name] > 0 && n > limits[name] || n < 300 {
				t.Errorf("a text of %d characters", n)
			}
			switch name {
			case "slack":
				for _, bad := range []string{"<!", "<@", "<http", "@everyone", "@here"} {
					if strings.Contains(both, bad) {
						t.Errorf("%q in %q", bad, both)
					}
				}
			case "discord", "mattermost", "rocketchat":
				for _, bad := range []string{"@everyone", "@here", " [", " **", " `", " <"} {
					if strings.Contains(both, bad) {
						t.Errorf("%q in %q", bad, both)
					}
				}
			case "telegram", "matrix":
				if strings.Contains(both, "@everyone") {
					t.Errorf("a mention in %q", both)
				}
			case "googlechat":
				for _, bad := range []string{"@everyone", "<users", "<http"} {
					if strings.Contains(both, bad) {
						t.Errorf("%q in %q", bad, both)
					}
				}
			}
		})
	}
}

// texts are title and text of a request as the service gets them.
func texts(t *testing.T, name string, r request) (title, body string) {
	t.Helper()
	switch name {
	case "ntfy":
		return r.Header.Get("Title"), r.Body
	case "pushover":
		q, err := url.ParseQuery(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return q.Get("title"), q.Get("message")
	}
	m := fields(t, r.Body)
	text := func(m map[string]any, key string) string { s, _ := m[key].(string); return s }
	switch name {
	case "slack":
		var lines []string
		for _, a := range m["attachments"].([]any) {
			lines = append(lines, text(a.(map[string]any), "text"))
		}
		return text(m, "text"), strings.Join(lines, "\n")
	case "discord":
		e := m["embeds"].([]any)
		if len(e) != 1 || m["content"] != nil && m["content"] != "" {
			t.Errorf("payload %v", m)
		}
		return text(e[0].(map[string]any), "title"), text(e[0].(map[string]any), "description")
	case "telegram", "rocketchat", "mattermost", "googlechat":
		if m["parse_mode"] != nil {
			t.Errorf("parse mode %v", m["parse_mode"])
		}
		return "", text(m, "text")
	case "matrix":
		if m["formatted_body"] != nil {
			t.Errorf("formatted: %v", m)
		}
		return "", text(m, "body")
	}
	return text(m, "title"), text(m, "message")
}

// What a person has set in the address of a service does not change how a text is read.
func TestSettingsDoNotMakeMarkup(t *testing.T) {
	t.Parallel()
	rec := serve(t, good)
	if err := send(t, sender(t, rec.host()), parse(t, "telegram://"+telegram+"@telegram?chats=1&title=mine"), hostile()); err != nil {
		t.Fatal(err)
	}
	m := fields(t, rec.requests()[0].Body)
	if m["parse_mode"] != nil || !strings.HasPrefix(m["text"].(string), "autopilot") {
		t.Errorf("payload %v", m)
	}
	rec = serve(t, good)
	if err := send(t, sender(t, rec.host()), parse(t, "discord://dIsCoRdToKeN@12345?splitlines=yes"), hostile()); err != nil {
		t.Fatal(err)
	}
	if n := len(rec.requests()); n != 1 {
		t.Errorf("%d messages for one notice", n)
	}
}

// A webhook that takes plain text is told the title as well.
func TestWebhookOfPlainText(t *testing.T) {
	t.Parallel()
	rec := serve(t, good)
	if err := send(t, sender(t, rec.host()), parse(t, "generic+https://hooks.example/x"), news()); err != nil {
		t.Fatal(err)
	}
	r := rec.requests()[0]
	if !strings.HasPrefix(r.Body, "autopilot (shop): a question\n\nwhich way?\n") || r.Path != "/x" || len(r.Query) != 0 {
		t.Errorf("%s %v %q", r.Path, r.Query, r.Body)
	}
}

func TestWebhookOfJSON(t *testing.T) {
	t.Parallel()
	rec := serve(t, good)
	if err := send(t, sender(t, rec.host()), parse(t, "generic+https://hooks.example/x?template=json&@Authorization=Bearer+abc&key=v"), news()); err != nil {
		t.Fatal(err)
	}
	r := rec.requests()[0]
	m := fields(t, r.Body)
	if m["kind"] != "needs-person" || m["title"] != "autopilot (shop): a question" || m["run_id"] != "main-2026-01-31-2200" || m["command"] == "" {
		t.Errorf("payload %v", m)
	}
	if r.Header.Get("Authorization") != "Bearer abc" || r.Query.Get("key") != "v" || r.Query.Has("template") {
		t.Errorf("header %v, query %v", r.Header, r.Query)
	}
}

func TestUrgentOnNtfy(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{"ntfy://ntfy.example/t": "High", "ntfy://ntfy.example/t?priority=min": "Min"} {
		rec := serve(t, good)
		if err := send(t, sender(t, rec.host()), parse(t, spec), news()); err != nil {
			t.Fatal(err)
		}
		if got := rec.requests()[0].Header.Get("Priority"); got != want {
			t.Errorf("%s: priority %q, want %q", spec, got, want)
		}
	}
}
