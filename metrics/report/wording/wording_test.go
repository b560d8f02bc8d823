package wording_test

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"autopilot/metrics/report/wording"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 5, ""},
		{"  a \t b\r\nc\n ", 9, "a b c"},
		{"12345", 5, "12345"},
		{"123456", 5, "1234…"},
		{"1234 56", 6, "1234…"},
		{"ääääää", 5, "ääää…"},
		{"abc", 1, "…"},
		{"abc", 0, "…"},
		{strings.Repeat(`"`, 20), 20, strings.Repeat(`"`, 11) + "…"}, // they are written as five bytes each
		{"\x1b[31mred\x1b[0m \x1b]0;title\x07x", 20, "red x"},
		{"a\u202eb\u2066c\u200fd\x00e\ufffef", 20, "abcdef"},
		{"a\xffb", 20, "a\ufffdb"},
		{"1\u20282\u20293\v4\f5", 20, "1 2 3 4 5"},
		{"key sk-ant-abcdefgh12345678 end", 40, "key [redacted] end"},
		{"key sk-ant-\x1b[0mabcdefgh12345678 end", 40, "key [redacted] end"},
	} {
		if got := wording.Line(c.in, c.n); got != c.want {
			t.Errorf("Line(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
	if got, want := wording.Text(" a\r\nb\x1b[1m\tc \n", 20), "a\nb\tc"; got != want {
		t.Errorf("Text = %q, want %q", got, want)
	}
}

func TestNoSecretIsCutInHalf(t *testing.T) {
	t.Parallel()
	for fill := 700; fill < 900; fill++ { // around the end of what is looked at
		got := wording.Line(strings.Repeat("a ", fill)+"sk-ant-abcdefgh12345678", 100)
		if strings.Contains(got, "sk-") {
			t.Fatalf("behind %d words: %q", fill, got)
		}
	}
}

func TestAnyText(t *testing.T) {
	t.Parallel()
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\xff", "\x1b[", "sk-ant-abcdefgh1234", `""""`, "\n", "\u202e", "😀😀"}))
	rapid.Check(t, func(t *rapid.T) {
		in, n := strings.Join(rapid.SliceOf(piece).Draw(t, "pieces"), ""), rapid.IntRange(-1, 50).Draw(t, "n")
		for _, got := range []string{wording.Line(in, n), wording.Text(in, n)} {
			if !utf8.ValidString(got) || utf8.RuneCountInString(got) > max(n, 1) || strings.ContainsAny(got, "\x00\x1b\r\u202e") {
				t.Fatalf("%q cut to %d is %q", in, n, got)
			}
		}
		if strings.Contains(wording.Line(in, n), "\n") {
			t.Fatal("a line of two lines")
		}
	})
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 123456: "123,456", 1234567: "1,234,567", math.MaxInt64: "9,223,372,036,854,775,807", -1: "-"} {
		if got := wording.Number(n); got != want {
			t.Errorf("Number(%d) = %s, want %s", n, got, want)
		}
	}
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		word func(float64) string
		want map[float64]string
	}{
		"Dollars": {wording.Dollars, map[float64]string{0: "$0.00", 0.001: "<$0.01", 0.005: "$0.01", 1.239: "$1.24", 0.999: "$1.00", 1234.5: "$1,234.50", -1: "-", nan: "-", inf: "-", 1e15: "-"}},
		"Percent": {wording.Percent, map[float64]string{0: "0%", 0.4: "0%", 66.6: "67%", 99.4: "99%", 99.9: "99%", 100: "100%", 101: "-", -1: "-", nan: "-"}},
		"Seconds": {wording.Seconds, map[float64]string{
			0: "0 seconds", 1: "1 second", 59.4: "59 seconds", 59.6: "1 minute", 90: "2 minutes", 3570: "1 hour", 3600: "1 hour", 4980: "1 hour 23 minutes",
			7200: "2 hours", 100 * 3600: "4 days 4 hours", 72 * 3600: "3 days", -1: "-", nan: "-", inf: "-",
		}},
		"Short":   {wording.Short, map[float64]string{0: "0", 0.02: "0.02", 0.0004: "0", 1.25: "1.3", 950: "950", 1500: "1.5k", 180_000: "180k", 2e6: "2M", 3.25e9: "3.3G", -1: "-", nan: "-"}},
		"Rounded": {wording.Rounded, map[float64]string{0: "0", 1234.5: "1,235", -1: "-", inf: "-"}},
	} {
		for in, want := range c.want {
			if got := c.word(in); got != want {
				t.Errorf("%s(%v) = %s, want %s", name, in, got, want)
			}
		}
	}
	if a, b := wording.Count(1, "session"), wording.Count(1200, "session"); a != "1 session" || b != "1,200 sessions" {
		t.Errorf("Count = %s, %s", a, b)
	}
}
