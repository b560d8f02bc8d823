package suite

import (
	"path"
	"slices"
	"strings"

	"autopilot/supervisor/tdd/suite/glob"
)

// IsTest reports whether a slash-separated path, relative to the project, is that of a
// file of tests. With a pattern [glob.Match] decides; without one the usual forms of names
// and folders in many languages do, which also take in what only tests use.
func IsTest(name, pattern string) bool {
	if pattern != "" {
		return glob.Match(pattern, name)
	}
	names := strings.Split(path.Clean(name), "/")
	last := len(names) - 1
	for _, folder := range names[:last] {
		if slices.Contains([]string{
			"test", "tests", "__tests__", "spec", "specs", "testdata", "__snapshots__", "__mocks__", "e2e", "androidtest",
		}, strings.ToLower(folder)) {
			return true
		}
	}
	return usual(names[last])
}

// usual reports whether a file name is one that tests have.
func usual(base string) bool {
	stem, ext, ok := strings.Cut(base, ".")
	if !ok || stem == "" {
		return false
	}
	inner := strings.Split(strings.ToLower(ext), ".")
	for _, part := range inner[:len(inner)-1] { // a.test.ts
		if slices.Contains([]string{"test", "tests", "spec", "cy", "e2e", "e2e-spec"}, part) {
			return true
		}
	}
	for _, end := range []string{"Test", "Tests", "Spec", "TestCase"} { // CalculatorTest.java
		if head, ok := strings.CutSuffix(stem, end); ok && head != "" {
			return true
		}
	}
	stem = strings.ToLower(stem)
	return slices.Contains([]string{"conftest", "test", "tests"}, stem) ||
		strings.HasPrefix(stem, "test_") || strings.HasPrefix(stem, "test-") ||
		slices.ContainsFunc([]string{"_test", "-test", "_tests", "_spec", "-spec"}, func(s string) bool { return strings.HasSuffix(stem, s) })
}
