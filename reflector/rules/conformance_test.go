package rules_test

import (
	"testing"

	"autopilot/reflector"
	"autopilot/reflector/conformance"
	"autopilot/reflector/rules"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Test(t, func(*testing.T) reflector.Reflector { return rules.Reflector{} })
}
