package release

import (
	"cmp"
	"errors"
	"strings"
)

// maxVersion is how long a version may be, in bytes.
const maxVersion = 64

// errVersion is returned for what is no version.
var errVersion = errors.New("not a version such as 1.2.3 or 1.2.3-rc.1")

// Version is a version as semver.org orders them: major, minor, patch, and what marks it
// as coming before the release of that number. The zero value is not valid.
type Version struct {
	Pre     string // rc.1 in 1.2.3-rc.1
	numbers [3]string
	build   string
}

// ParseVersion reads a version, with or without a leading v. The numbers may be of any
// size within 64 bytes; leading zeros are refused. The error does not repeat the text.
func ParseVersion(text string) (Version, error) {
	var v Version
	rest := strings.TrimPrefix(text, "v")
	if len(rest) > maxVersion {
		return v, errVersion
	}
	rest, build, hasBuild := strings.Cut(rest, "+")
	rest, pre, hasPre := strings.Cut(rest, "-")
	numbers := strings.Split(rest, ".")
	if len(numbers) != 3 || hasBuild && !identifiers(build, true) || hasPre && !identifiers(pre, false) {
		return v, errVersion
	}
	for i, n := range numbers {
		if !isNumber(n) || zeroLed(n) {
			return v, errVersion
		}
		v.numbers[i] = n
	}
	v.Pre, v.build = pre, build
	return v, nil
}

// identifiers reports whether text is made of words of letters, digits and hyphens with
// dots between them. Only in build metadata may a number have leading zeros.
func identifiers(text string, zeros bool) bool {
	for word := range strings.SplitSeq(text, ".") {
		odd := strings.IndexFunc(word, func(r rune) bool {
			return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
		})
		if word == "" || odd >= 0 || !zeros && isNumber(word) && zeroLed(word) {
			return false
		}
	}
	return true
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func zeroLed(s string) bool { return len(s) > 1 && s[0] == '0' }

// String is the version without a leading v.
func (v Version) String() string {
	s := strings.Join(v.numbers[:], ".")
	if v.Pre != "" {
		s += "-" + v.Pre
	}
	if v.build != "" {
		s += "+" + v.build
	}
	return s
}

// Compare is negative when v comes before other, positive when it comes after. Build
// metadata makes no difference.
func (v Version) Compare(other Version) int {
	for i := range v.numbers {
		if c := compareNumbers(v.numbers[i], other.numbers[i]); c != 0 {
			return c
		}
	}
	switch {
	case v.Pre == other.Pre:
		return 0
	case v.Pre == "":
		return 1
	case other.Pre == "":
		return -1
	}
	a, b := strings.Split(v.Pre, "."), strings.Split(other.Pre, ".")
	for i := range min(len(a), len(b)) {
		if c := compareWords(a[i], b[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// compareNumbers compares numbers of any size that have no leading zeros.
func compareNumbers(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// compareWords orders parts of what comes before a release: numbers by value and before
// words, words by their bytes.
func compareWords(a, b string) int {
	switch x, y := isNumber(a), isNumber(b); {
	case x && y:
		return compareNumbers(a, b)
	case x:
		return -1
	case y:
		return 1
	}
	return strings.Compare(a, b)
}
