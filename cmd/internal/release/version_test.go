package release_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"autopilot/cmd/internal/release"
)

// ordered are versions from the first to the last.
func ordered() []string {
	return []string{
		"0.0.0-0", "0.0.0", "0.9.10", "0.10.0", "1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0--1", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta",
		"1.0.0-beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0",
		"10.0.0", "18446744073709551616.0.0", "18446744073709551617.0.0",
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	parse := func(text string) release.Version {
		t.Helper()
		v, err := release.ParseVersion(text)
		if err != nil {
			t.Fatalf("ParseVersion(%q): %v", text, err)
		}
		return v
	}
	all := ordered()
	for i, a := range all {
		for j, b := range all {
			if got := parse(a).Compare(parse(b)); got < 0 != (i < j) || got > 0 != (i > j) {
				t.Errorf("%s compared with %s is %d", a, b, got)
			}
		}
	}
	if got := parse("1.0.0+a").Compare(parse("v1.0.0+b.1")); got != 0 {
		t.Errorf("build metadata makes a difference: %d", got)
	}
	for _, text := range []string{"1.2.3", "1.2.3-rc.1+build.007", "1.2.3+b"} {
		if got := parse("v" + text).String(); got != text {
			t.Errorf("String of v%s = %q", text, got)
		}
	}
}

func TestParseVersionRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "v", "1", "1.2", "1.2.3.4", "01.2.3", "1.02.3", "1.2.03", "1.2.x", "-1.2.3", "1.2.-3", "1.2.3-", "1.2.3-a..b", "1.2.3-01", "1.2.3+",
		"1.2.3 ", " 1.2.3", "1.2.3\n", "vv1.2.3", "1.2.3-ä", "1.2.3-\x1b[31m", "1.2.3+a+b", "１.2.3", "1.2.3-" + strings.Repeat("a", 64), "devel",
	} {
		if v, err := release.ParseVersion(text); err == nil {
			t.Errorf("ParseVersion(%q) = %s, want an error", text, v)
		} else if strings.ContainsAny(err.Error(), "\x1b\nä") {
			t.Errorf("the error for %q repeats it: %v", text, err)
		}
	}
}

func TestCompareIsAnOrder(t *testing.T) {
	t.Parallel()
	text := rapid.StringMatching(`(0|[1-9][0-9]{0,20})\.(0|[1-9]{1,3})\.(0|[1-9])(-(0|[1-9][0-9]?|[a-c-]{1,2})(\.(0|[1-9]|[a-b]))?)?`)
	rapid.Check(t, func(t *rapid.T) {
		var v [3]release.Version
		for i := range v {
			var err error
			if v[i], err = release.ParseVersion(text.Draw(t, "version")); err != nil {
				t.Fatal(err)
			}
		}
		if ab, ba := v[0].Compare(v[1]), v[1].Compare(v[0]); ab != -ba {
			t.Fatalf("%s and %s: %d one way, %d the other", v[0], v[1], ab, ba)
		}
		if v[0].Compare(v[1]) <= 0 && v[1].Compare(v[2]) <= 0 && v[0].Compare(v[2]) > 0 {
			t.Fatalf("%s, %s, %s: not an order", v[0], v[1], v[2])
		}
		if (v[0].Compare(v[1]) == 0) != (v[0].String() == v[1].String()) {
			t.Fatalf("%s and %s", v[0], v[1])
		}
	})
}

func FuzzParseVersion(f *testing.F) {
	for _, text := range append(ordered(), "", "1.2.3-", "v1.2.3+x", "1.2.3\n") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := release.ParseVersion(text)
		if err != nil {
			return
		}
		if got := strings.TrimPrefix(text, "v"); v.String() != got {
			t.Fatalf("%q is read as %s", text, v)
		}
		if v.Compare(v) != 0 {
			t.Fatalf("%s is not itself", v)
		}
	})
}
