package channel

import (
	"bufio"
	"fmt"
	"mime"
	"net"
	"net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"autopilot/supervisor/notice"
)

// mailbox is a mail server for a test: it answers each command as replies say, and keeps
// what it was sent.
type mailbox struct {
	net.Listener
	replies map[string]string // by the first word of a command; "" is the greeting, "." the end of a text

	mu    sync.Mutex
	mails []string
	calls int
	rcpt  []string
}

const (
	silent = "silent" // no answer, for ever
	hangUp = "hang up"
)

func post(t *testing.T, replies map[string]string) *mailbox {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &mailbox{Listener: l, replies: replies}
	var all sync.WaitGroup
	t.Cleanup(func() { l.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { m.talk(c) })
		}
	})
	return m
}

func (m *mailbox) talk(c net.Conn) {
	defer c.Close()
	m.mu.Lock()
	m.calls++
	m.mu.Unlock()
	in := bufio.NewReader(c)
	usual := map[string]string{"": "220 here", "EHLO": "250 hello", "DATA": "354 go on", "QUIT": "221 bye"}
	answer := func(word string) bool {
		s, ok := m.replies[word]
		if !ok {
			if s, ok = usual[word]; !ok {
				s = "250 fine"
			}
		}
		switch s {
		case silent:
			_, _ = in.ReadString(0) // until the other side is gone
			return false
		case hangUp:
			return false
		}
		fmt.Fprintf(c, "%s\r\n", s)
		return true
	}
	for word := ""; answer(word); {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		word = strings.ToUpper(strings.Fields(line + " ?")[0])
		switch word {
		case "RCPT":
			m.mu.Lock()
			m.rcpt = append(m.rcpt, strings.TrimSpace(line))
			m.mu.Unlock()
		case "DATA":
			if !answer("DATA") || m.replies["DATA"] != "" {
				word = "RSET"
				continue
			}
			var text strings.Builder
			for {
				l, err := in.ReadString('\n')
				if err != nil {
					return
				}
				if l == ".\r\n" {
					break
				}
				text.WriteString(l)
			}
			m.mu.Lock()
			m.mails = append(m.mails, text.String())
			m.mu.Unlock()
			word = "."
		}
	}
}

func (m *mailbox) got() (mails []string, calls int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string{}, m.mails...), m.calls
}

func (m *mailbox) spec() string {
	return "smtp://" + m.Addr().String() + "/?from=pilot@host.example&to=me@host.example&starttls=no"
}

func TestMail(t *testing.T) {
	t.Parallel()
	m := post(t, nil)
	h := news()
	h.Notice.Title = "größer\r\nBcc: thief@host.example\n\nbody"
	h.Notice.Text = "first\n.\nQUIT\n<b>bold</b>\n" + strings.Repeat("x", 2500)
	if err := send(t, sender(t, nowhere(t)), parse(t, m.spec()), h); err != nil {
		t.Fatal(err)
	}
	mails, _ := m.got()
	if len(mails) != 1 || len(m.rcpt) != 1 || !strings.Contains(m.rcpt[0], "<me@host.example>") {
		t.Fatalf("mails %q to %q", mails, m.rcpt)
	}
	msg, err := mail.ReadMessage(strings.NewReader(mails[0]))
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(msg.Header.Get("Subject"))
	if err != nil || subject != "autopilot (shop): größer Bcc: thief@host.example body" {
		t.Errorf("subject %q, %v", subject, err)
	}
	if raw := msg.Header.Get("Subject"); strings.ContainsFunc(raw, func(r rune) bool { return r > 126 }) {
		t.Errorf("a header of more than ASCII: %q", raw)
	}
	if len(msg.Header) != 6 || msg.Header.Get("Bcc") != "" || !strings.HasPrefix(msg.Header.Get("Content-Type"), "text/plain") {
		t.Errorf("header %v", msg.Header)
	}
	_, body, _ := strings.Cut(mails[0], "\r\n\r\n")
	if !strings.HasPrefix(body, "first\r\n..\r\nQUIT\r\n<b>bold</b>\r\n") || !strings.Contains(body, "needs-person") {
		t.Errorf("body %q", body)
	}
	for line := range strings.Lines(mails[0]) {
		if len(line) > 998 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}

func TestMailServers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		replies   map[string]string
		calls     int
		permanent bool
		sent      bool
	}{
		"refuses the recipient":        {map[string]string{"RCPT": "550 no such mailbox"}, 1, true, false},
		"refuses the password":         {map[string]string{"MAIL": "530 who are you"}, 1, true, false},
		"is busy":                      {map[string]string{"": "421 later"}, 3, false, false},
		"is out of room":               {map[string]string{"DATA": "452 later"}, 3, false, false},
		"refuses the text for now":     {map[string]string{".": "451 later"}, 3, false, false},
		"refuses the text":             {map[string]string{".": "554 spam"}, 1, true, false},
		"hangs up at once":             {map[string]string{"": hangUp}, 3, false, false},
		"hangs up instead of goodbye":  {map[string]string{"QUIT": hangUp}, 1, false, true},
		"hangs up before it has taken": {map[string]string{".": hangUp}, 3, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := post(t, tc.replies)
			err := send(t, sender(t, nowhere(t)), parse(t, m.spec()), news())
			if tc.sent != (err == nil) {
				t.Fatalf("sent %v: %v", err == nil, err)
			}
			if !tc.sent && failure(t, err).Permanent != tc.permanent {
				t.Errorf("permanent %v: %v", !tc.permanent, err)
			}
			if _, calls := m.got(); calls != tc.calls {
				t.Errorf("%d calls, want %d: %v", calls, tc.calls, err)
			}
		})
	}
}

func TestMailServerStalls(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"", "EHLO", "MAIL", ".", "QUIT"} {
		t.Run("at "+word, func(t *testing.T) {
			t.Parallel()
			m := post(t, map[string]string{word: silent})
			s := sender(t, nowhere(t))
			s.TryFor = 600 * time.Millisecond
			if f := failure(t, send(t, s, parse(t, m.spec()), news())); f.Permanent {
				t.Error(f)
			}
		})
	}
}

func TestNoMailServer(t *testing.T) {
	t.Parallel()
	spec := "smtp://me:hunter2secret@" + nowhere(t) + "/?from=a@host.example&to=b@host.example"
	f := failure(t, send(t, sender(t, nowhere(t)), parse(t, spec), notice.Held{Notice: notice.Notice{Kind: notice.Trial, Title: "x"}}))
	if f.Permanent || !strings.Contains(f.Error(), "refused") {
		t.Error(f)
	}
	hides(t, "the error", f.Error(), []string{"hunter2secret"})
}
