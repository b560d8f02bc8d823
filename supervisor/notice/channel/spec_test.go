package channel

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"autopilot/supervisor/notice/channel/shout"
)

func TestLabels(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"desktop": "desktop", " desktop ": "desktop",
		"command:notify-me": "command:notify-me", "command: /opt/bin/tell  --key hunter2": "command:tell …", "command:TOKEN=hunter2 tell": "command:…",
		"command:$(cat x)":             "command:…",
		"ntfy://user:pw@ntfy.sh/topic": "ntfy://ntfy.sh/…", "ntfy://127.0.0.1:8080/topic?scheme=http": "ntfy://127.0.0.1:8080/…",
		"generic+https://hooks.example/x?y=z":                "generic+https://hooks.example/…",
		"generic://hooks.example/x?disabletls=yes":           "generic://hooks.example/…",
		"generic+http://127.0.0.1:1/x":                       "generic+http://127.0.0.1:1/…",
		"GENERIC+HTTPS://hooks.example/x":                    "generic+https://hooks.example/…",
		"slack://hook:" + slackToken + "@webhook":            "slack://…",
		"discord://tokentoken@12345":                         "discord://…",
		"telegram://" + telegram + "@telegram?chats=1":       "telegram://…",
		"pushover://shoutrrr:tokentoken@userkey":             "pushover://…",
		"smtp://me:pw@mail.example:587/?from=a@b.c&to=d@e.f": "smtp://mail.example:587/…",
	} {
		c, err := Parse(spec)
		if err != nil || c.Label != want || c.String() != want || fmt.Sprintf("%v %+v %#v %s", c, c, c, []Channel{c}) != fmt.Sprintf("%[1]s %[1]s %[1]s [%[1]s]", want) {
			t.Errorf("%s: %q, %v; printed %v %+v %#v", spec, c.Label, err, c, c, c)
		}
	}
}

func TestSameChannelHasTheSameID(t *testing.T) {
	t.Parallel()
	a, b, c := parse(t, "ntfy://ntfy.sh/a"), parse(t, " ntfy://ntfy.sh/a\t"), parse(t, "ntfy://ntfy.sh/b")
	if a.ID != b.ID || a.ID == c.ID || len(a.ID) != 16 {
		t.Errorf("ids %s, %s, %s", a.ID, b.ID, c.ID)
	}
}

func TestRefusedSpecs(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]struct{ words, way string }{
		"":                                {"does not begin", "ntfy://"},
		"hunter2secret":                   {"does not begin", "ntfy://"},
		"hunter2secret:x":                 {"does not begin", "ntfy://"},
		"desktops":                        {"does not begin", ""},
		"command:":                        {"the command is empty", "command:WORDS"},
		"command:  ":                      {"the command is empty", "command:WORDS"},
		"command:a\nhunter2secret":        {"control characters", ""},
		"ntfi://ntfy.sh/hunter2secret":    {"ntfi://… is no known service", "ntfy://"},
		"logger://hunter2secret":          {"no known service", ""},
		"xmpp://hunter2secret@host":       {"no known service", ""},
		"https://hunter2secret.example/x": {"no known service", "generic+https://HOST"},
		"https://hooks.slack.com/services/hunter2secret":              {"no known service", "slack://"},
		"https://discord.com/api/webhooks/1/hunter2secret":            {"no known service", "discord://"},
		"ntfy://hunter2secret":                                        {"not written", "HOST/TOPIC"},
		"ntfy://host/hunter2secret?nope=1":                            {"not written", "HOST/TOPIC"},
		"ntfy:hunter2secret":                                          {"not written", "HOST/TOPIC"},
		"ntfy://%zz/hunter2secret":                                    {"not written", "HOST/TOPIC"},
		"ntfy+https://host/hunter2secret":                             {"not written", "HOST/TOPIC"},
		"telegram://hunter2secret@telegram?chats=1":                   {"not written", "telegram://TOKEN"},
		"telegram://" + telegram + "@telegram":                        {"not written", "telegram://TOKEN"},
		"telegram://" + telegram + "@telegram?chats=1&parsemode=HTML": {"parsemode", "telegram://TOKEN"},
		"slack://hunter2secret@webhook":                               {"not written", "slack://"},
		"slack://":                                                    {"not written", "slack://"},
		"discord://hunter2secret":                                     {"not written", "discord://"},
		"discord://hunter2secret@1234?json=yes":                       {"json", "discord://"},
		"discord://hunter2secret@1234/raw":                            {"more than text", "discord://"},
		"smtp://me:hunter2secret@host":                                {"not written", "smtp://"},
		"smtp://host/?from=a@b.c&to=d@e.f&usehtml=yes":                {"usehtml", "smtp://"},
		"generic+https:///hunter2secret":                              {"not written", "generic+https://"},
		"generic+ftp://host/hunter2secret":                            {"not written", "generic+https://"},
		"generic+http://host.example/hunter2secret":                   {"without TLS", "disabletls=yes"},
		"generic+https://host/hunter2secret?template=mine":            {"template", "generic+https://"},
		"matrix://host":                                               {"not written", "matrix://"},
		"gotify://host":                                               {"not written", "gotify://"},
		"pushover://userkey":                                          {"not written", "pushover://"},
		"ntfy://host/" + strings.Repeat("hunter2secret", 1000):        {"too long", ""},
	} {
		_, err := Parse(spec)
		e, ok := errors.AsType[*SpecError](err)
		if !ok || !strings.Contains(e.Error(), want.words) || !strings.Contains(e.Hint(), want.way) {
			t.Errorf("%.60q: %v (%+v)", spec, err, e)
			continue
		}
		hides(t, "the error", e.Error()+e.Hint()+e.Scheme, []string{"hunter2secret", telegram})
	}
}

// Every service has a form, and the form's example is nearly one: filled in it is taken.
func TestExamples(t *testing.T) {
	t.Parallel()
	fill := strings.NewReplacer("[USER:PASSWORD@]", "", "[USER@]", "", "[/CHANNEL]", "", "USER:PASSWORD", "u:p", "HOST", "host.example", "/TOPIC", "/topic",
		"telegram://TOKEN", "telegram://"+telegram, "gotify://host.example/TOKEN", "gotify://host.example/Aabcdefghijklmn", "TOKEN", "tokentoken", "CHAT", "1", "from=ADDRESS", "from=a@b.c", "to=ADDRESS", "to=d@e.f", "WORDS", "true")
	if len(Examples()) != len(forms())+2 {
		t.Errorf("%d examples", len(Examples()))
	}
	for _, e := range Examples() {
		e = fill.Replace(e)
		e = strings.ReplaceAll(e, "gotify://host.example/tokentoken", "gotify://host.example/AsEcReTtOkEn123")
		if _, err := Parse(e); err != nil {
			t.Errorf("%s: %v", e, err)
		}
	}
	for _, s := range Schemes() {
		if s != "desktop" && !strings.HasSuffix(s, ":") && !strings.HasSuffix(s, "://") {
			t.Errorf("scheme %q", s)
		}
	}
}

func FuzzParse(f *testing.F) {
	for spec := range specs() {
		f.Add(spec)
	}
	f.Add("command:x")
	f.Add("telegram://@?")
	f.Fuzz(func(t *testing.T, spec string) {
		c, err := Parse(spec)
		if err != nil {
			if _, ok := errors.AsType[*SpecError](err); !ok {
				t.Fatalf("%T", err)
			}
			return
		}
		if c.Label == "" || c.ID == "" {
			t.Fatalf("%+v", c)
		}
	})
}

// A text that is cut has room for what it is written as, and what fits is left as it is.
func TestFit(t *testing.T) {
	t.Parallel()
	fns := map[string]func(string) string{"slack": slackText, "markdown": markdownText, "google": googleText, "header": headerText, "desktop": desktopText, "mail": mailText}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.RuneFrom([]rune("ab @<>&*_[]`\\\nä€😀"))).Draw(t, "text")
		limit := rapid.IntRange(60, 200).Draw(t, "limit")
		for name, fn := range fns {
			out := fit(s, limit, fn)
			if len(out) > limit && len(fn(s)) > limit || !utf8.ValidString(out) {
				t.Fatalf("%s: %d bytes of %d: %q", name, len(out), limit, out)
			}
			if len(fn(s)) <= limit && out != fn(s) {
				t.Fatalf("%s: %q was cut to %q", name, s, out)
			}
		}
	})
	if got := fit(strings.Repeat("<", 100), 40, slackText); got != strings.Repeat("&lt;", 9)+"…" {
		t.Errorf("got %q", got)
	}
}

func TestMentions(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"@everyone": "@\u200beveryone", "ask me@host.example": "ask me@host.example", "(@all)": "(@\u200ball)", "@@here": "@\u200b@\u200bhere", "x@Everyone": "x@\u200bEveryone", "": "",
	} {
		if got := mentionless(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestSecretsAreFoundInEveryForm(t *testing.T) {
	t.Parallel()
	c := parse(t, "slack://hook:"+slackToken+"@webhook")
	for _, s := range []string{
		"post https://hooks.slack.com/services/T00000001/B00000001/abcdefghijklmnopqrstuvwx: refused", slackToken, "abcdefghijklmnopqrstuvwx",
	} {
		hides(t, "the text", c.clean(s), []string{"abcdefgh", "T00000001", "B00000001"})
	}
	hides(t, "the text", parse(t, "discord://dIsCoRdToKeN@998877").clean("post to 998877/dIsCoRdToKeN"), []string{"998877", "dIsCo"})
	c = parse(t, "ntfy://me:p%40ss%2Fword@host/topic")
	hides(t, "the text", c.clean("login p@ss/word p%40ss%2Fword"), []string{"p@ss/word", "p%40ss"})
	if got := parse(t, "ntfy://ntfy.sh/topicname").clean("tell ntfy.sh: lookup ntfy.sh: no such host"); got != "tell ntfy.sh: lookup ntfy.sh: no such host" {
		t.Errorf("the host is no secret: %q", got)
	}
}

func TestUnsafeSaysNothingOfTheAddress(t *testing.T) {
	t.Parallel()
	if e := (&shout.Unsafe{Words: "x"}); e.Error() != "x" {
		t.Error(e)
	}
}
