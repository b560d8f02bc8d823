package gate

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestRingKeepsTheEnd(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const size = 16
		r := newRing(size)
		var all []byte
		for _, piece := range rapid.SliceOf(rapid.SliceOfN(rapid.ByteRange('a', 'z'), 0, 40)).Draw(t, "pieces") {
			n, err := r.Write(piece)
			if n != len(piece) || err != nil {
				t.Fatalf("write = %d, %v", n, err)
			}
			all = append(all, piece...)
		}
		got, cut := r.text()
		if want := string(all[max(0, len(all)-size):]); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
		if cut != (len(all) >= size) || len(r.buf) != size {
			t.Fatalf("cut = %v after %d bytes, in %d", cut, len(all), len(r.buf))
		}
	})
}

func TestRingDropsHalves(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"begun: half\nwhole line\n": "whole line\n",
		"0123456789 w word 1 end.":  "w word 1 end.",
		"0123456789abcdefg":         "123456789abcdefg",
		"0123456789abcdef\n":        "123456789abcdef\n",
		"0123456789a bcde\n":        "123456789a bcde\n",
		"short\n":                   "short\n",
	} {
		r := newRing(16)
		_, _ = r.Write([]byte(in))
		if got, _ := r.text(); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\tb\nc":                            "a\tb\nc",
		"a\r\nb":                             "a\nb",
		"10%\r20%\r100%\n":                   "10%\n20%\n100%\n",
		"\x1b[1;31mFAIL\x1b[0m: x":           "FAIL: x",
		"\x1b]0;title\x07text":               "text",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;": "link",
		"\x1b(Btext\x1b7\x1b=more":           "textmore",
		"a\x1b]never ended\nstays":           "a\nstays",
		"\x1b":                               "",
		"a\x00b\x08c\x7f":                    "abc",
		"\u009b31mx\u0085":                   "31mx",
		"\xff\xfea\xff":                      "\uFFFDa\uFFFD",
		"abc\u202edef\u2066":                 "abcdef",
		"one\u2028two\vthree":                "one\ntwo\nthree",
		"ä…😀":                                "ä…😀",
	} {
		if got := Plain(in); got != want {
			t.Errorf("Plain(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestShown(t *testing.T) {
	t.Parallel()
	const secret = "sk-0123456789abcdef"
	tests := []struct {
		name, in  string
		cut       bool
		out, last string
	}{
		{"empty", "", false, "", ""},
		{"no line end", "a\nb", false, "a\nb", "b"},
		{"blank at the end", "a\n b \n\n \n", false, "a\n b \n\n \n", "b"},
		{"nothing but blanks", " \n\n", false, " \n\n", ""},
		{"a secret", "key " + secret + "\n", false, "key [redacted]\n", "key [redacted]"},
		{"a secret with colour in it", "sk-0123\x1b[1m456789abcdef", false, "[redacted]", "[redacted]"},
		{"a secret with a zero byte in it", "ghp_0123456789\x00abcdefghij", false, "[redacted]", "[redacted]"},
		{"cut before", "x", true, "…x", "x"},
		{"long", strings.Repeat("0123456789abcde\n", 1000), false, "…" + strings.Repeat("0123456789abcde\n", 511), "0123456789abcde"},
		{"one long line", strings.Repeat("ä", 9000), false, "…" + strings.Repeat("ä", 4094), strings.Repeat("ä", 9000)},
		{"a secret at the cut", "y " + secret + strings.Repeat(" ", maxOutput-10), false, "…dacted]" + strings.Repeat(" ", maxOutput-10), "y [redacted]"},
	}
	for _, tt := range tests {
		out, last := shown(tt.in, tt.cut)
		if out != tt.out || last != tt.last {
			t.Errorf("%s: got %.40q in %d bytes and %.40q, want %.40q in %d and %.40q", tt.name, out, len(out), last, tt.out, len(tt.out), tt.last)
		}
	}
}

func FuzzShown(f *testing.F) {
	f.Add("a\nb\x1b[31m", false)
	f.Add(strings.Repeat("ä\xff\n", 4000), true)
	f.Add("\x1b\x1b]x\u202e\u2028", true)
	f.Fuzz(func(t *testing.T, s string, cut bool) {
		out, last := shown(s, cut)
		if !utf8.ValidString(out) || len(out) > maxOutput {
			t.Errorf("output is %d bytes, valid %v", len(out), utf8.ValidString(out))
		}
		if strings.ContainsFunc(out, func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }) {
			t.Errorf("output %q holds control characters", out)
		}
		if strings.Contains(last, "\n") || last != strings.TrimSpace(last) {
			t.Errorf("last line %q is no line", last)
		}
	})
}

func TestLook(t *testing.T) {
	t.Parallel()
	const limit = 10 * time.Minute
	tests := []struct {
		name         string
		steady, wall time.Duration
		wait         time.Duration
		over         bool
	}{
		{"at the start", 0, 0, 30 * time.Second, false},
		{"near the end", limit - time.Second, limit - time.Second, time.Second, false},
		{"at the limit", limit, limit, 0, true},
		{"the machine slept", time.Minute, 8 * time.Hour, 0, true},
		{"the clock was set back", limit, -time.Hour, 0, true},
		{"the clock was set back, early", time.Minute, -time.Hour, 30 * time.Second, false},
	}
	for _, tt := range tests {
		if wait, over := look(limit, tt.steady, tt.wall); wait != tt.wait || over != tt.over {
			t.Errorf("%s: look = %v, %v; want %v, %v", tt.name, wait, over, tt.wait, tt.over)
		}
	}
}

func TestElapsed(t *testing.T) {
	t.Parallel()
	now := time.Now()
	// Without its reading of the steady clock a time is one of the wall alone.
	if steady, wall := elapsed(now, now.Add(time.Hour)); steady != time.Hour || wall != time.Hour {
		t.Errorf("elapsed = %v, %v; want an hour by both", steady, wall)
	}
}

func TestEndingHolds(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		e    ending
		ok   bool
		want string
	}{
		{"done", ending{gone: true, took: 2345 * time.Millisecond}, true, "exit status 0 after 2.3s: last"},
		{"failed", ending{gone: true, code: 2, took: 12345 * time.Microsecond}, false, "exit status 2 after 12ms: last"},
		{"killed", ending{gone: true, code: -1, sig: 11}, false, "killed by SIGSEGV after 0s: last"},
		{"late, and then status 0", ending{gone: true, stop: overtime, limit: time.Minute}, false, "not done within the time limit of 1m0s: last"},
		{"cancelled, and then status 0", ending{gone: true, stop: canceled, cause: errTest}, false, "cancelled after 0s (stop): last"},
		{"could not be ended", ending{stop: overtime, limit: time.Minute, left: []int{7}}, false, "not done within the time limit of 1m0s, processes [7] could not be ended: last"},
		{"not gone", ending{}, false, "exit status 0 after 0s: last"},
	}
	for _, tt := range tests {
		if got := tt.e.holds(); got != tt.ok {
			t.Errorf("%s: holds = %v, want %v", tt.name, got, tt.ok)
		}
		if got := tt.e.words("last"); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

type testError string

func (e testError) Error() string { return string(e) }

const errTest = testError("stop")
