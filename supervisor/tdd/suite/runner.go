package suite

// Runner is a form in which test commands tell their results.
type Runner string

// The runners.
const (
	Auto   Runner = "auto"   // told from the command
	Go     Runner = "go"     // go test
	Jest   Runner = "jest"   //
	Vitest Runner = "vitest" //
	Node   Runner = "node"   // node --test
	Pytest Runner = "pytest" //
	Cargo  Runner = "cargo"  // cargo test
	TAP    Runner = "tap"    // the Test Anything Protocol, 13 or 14, on stdout
	Exit   Runner = "exit"   // exit status only
)

// Runners returns the names of all runners, for messages and completion.
func Runners() []string {
	all := []Runner{Auto, Go, Jest, Vitest, Node, Pytest, Cargo, TAP, Exit}
	names := make([]string, 0, len(all))
	for _, r := range all {
		names = append(names, string(r))
	}
	return names
}

// Pattern returns the glob of the files in which tests of a runner usually stand, as
// IsTest understands it. It is empty where there is no such rule.
func Pattern(r Runner) string {
	switch r {
	case Go:
		return "**/*_test.go"
	case Jest, Vitest:
		return "**/{*.{test,spec}.*,__tests__/**}"
	case Node:
		return "**/{*.test.*,*-test.*,*_test.*,test-*.*,test/**}"
	case Pytest:
		return "**/{test_*,*_test}.py"
	case Cargo:
		return "**/tests/**/*.rs"
	}
	return ""
}

// Suite is the test command of a project.
type Suite struct {
	Command string // for the shell, run in the project's folder
	Runner  Runner // any but Auto
	Why     string // where the command comes from: "go.mod", "package.json: scripts.test", "configured"
}
