package config

import (
	"fmt"
	"math"
	"strconv"
)

// SpecWeaveFile is the configuration of SpecWeave in a repository.
const SpecWeaveFile = ".specweave/config.json"

// fromSpecWeave are the keys that are read from the section auto of SpecWeave's
// configuration. Its patterns of words that need a person are not among them: here
// calls are judged, not words.
func fromSpecWeave() map[string]reading {
	return map[string]reading{
		"auto.enabled":                          {key: "enabled"},
		"auto.maxIterations":                    {key: "max-sessions"},
		"auto.maxHours":                         {key: "max-hours"},
		"auto.completionPromise":                {key: "completion-promise"},
		"auto.testCommand":                      {key: "test-command"},
		"auto.coverageThreshold":                {"coverage-lines", fromPercent},
		"auto.requireTests":                     {"test-gate", fromRequired},
		"auto.humanGated.timeout":               {"gate-timeout", fromSeconds},
		"auto.circuitBreakers.failureThreshold": {key: "breaker-threshold"},
		"auto.circuitBreakers.resetTimeout":     {"breaker-reset", fromSecondsOrMilliseconds},
		"auto.sync.batchInterval":               {"sync-interval", fromSeconds},
	}
}

// LoadSpecWeave reads the section auto of SpecWeave's configuration in a repository.
func LoadSpecWeave(repo string) ([]Value, error) {
	return loadForeign(repo, SpecWeaveFile, fromSpecWeave())
}

// fromRequired reads whether tests are required.
func fromRequired(raw string) (string, error) {
	v, err := strconv.ParseBool(raw)
	if err != nil {
		return "", fmt.Errorf("%q is neither true nor false", raw)
	}
	if v {
		return TestGateOn, nil
	}
	return TestGateAuto, nil // tests that are not required may still be run
}

// fromSeconds gives a number its unit.
func fromSeconds(raw string) (string, error) {
	if _, err := parseNumber(raw); err != nil {
		return raw, nil // whether it is a duration is seen later
	}
	return raw + "s", nil
}

// fromSecondsOrMilliseconds takes a number for seconds, and from ten thousand on for
// milliseconds: both were in use, and nobody means ten milliseconds or three hours.
func fromSecondsOrMilliseconds(raw string) (string, error) {
	const most = 10_000
	if v, err := parseNumber(raw); err == nil && v >= most {
		return fromMilliseconds(raw)
	}
	return fromSeconds(raw)
}

// fromPercent reads a share in percent. A part of one is refused: taken as it is, it
// would want next to nothing.
func fromPercent(raw string) (string, error) {
	if v, err := parseNumber(raw); err == nil && v > 0 && v < 1 {
		return "", fmt.Errorf("%s is a part of one; want percent, as %v", raw, math.Round(v*1e4)/100)
	}
	return raw, nil
}
