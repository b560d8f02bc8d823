package config

import (
	"fmt"
	"time"
)

// TaskMasterFile is the configuration of Task Master in a repository.
const TaskMasterFile = ".taskmaster/config.json"

// onlyLocation is the only value that the place of runs takes.
const onlyLocation = "global"

// fromTaskMaster are the keys that are read from Task Master's configuration.
func fromTaskMaster() map[string]reading {
	return map[string]reading{
		"autopilot.enabled":                  {key: "tdd"},
		"autopilot.requireCleanWorkingTree":  {key: "clean-tree"},
		"autopilot.commitTemplate":           {key: "commit-template"},
		"autopilot.defaultCommitType":        {key: "commit-type"},
		"autopilot.maxGreenAttempts":         {key: "max-attempts"},
		"autopilot.testTimeout":              {"test-timeout", fromMilliseconds},
		"autopilot.storage.location":         {"", checkLocation},
		"autopilot.storage.basePath":         {key: "tdd-storage"},
		"test.runner":                        {key: "test-runner"},
		"test.coverageThresholds.lines":      {key: "coverage-lines"},
		"test.coverageThresholds.branches":   {key: "coverage-branches"},
		"test.coverageThresholds.functions":  {key: "coverage-functions"},
		"test.coverageThresholds.statements": {key: "coverage-statements"},
		"test.targetedRunPattern":            {key: "test-pattern"},
		"git.branchPattern":                  {key: "branch-pattern"},
		"git.defaultRemote":                  {key: "remote"},
	}
}

func checkLocation(raw string) (string, error) {
	if raw != onlyLocation {
		return "", fmt.Errorf("%q is not %s: runs are kept outside the repository", raw, onlyLocation)
	}
	return raw, nil
}

// fromMilliseconds gives a number a unit. What has one already keeps it.
func fromMilliseconds(raw string) (string, error) {
	v, err := parseNumber(raw)
	if err != nil {
		return raw, nil // whether it is a duration is seen later
	}
	const most = float64(1<<63 - 1<<10)
	return short(time.Duration(min(max(v*float64(time.Millisecond), -most), most))), nil
}

// LoadTaskMaster reads the sections autopilot, test and git of Task Master's
// configuration in a repository.
func LoadTaskMaster(repo string) ([]Value, error) {
	return loadForeign(repo, TaskMasterFile, fromTaskMaster())
}

// ParseTaskMaster reads the content of Task Master's configuration.
func ParseTaskMaster(data []byte) ([]Value, error) {
	return parseForeign(TaskMasterFile, data, fromTaskMaster())
}
