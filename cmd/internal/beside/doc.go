// Package beside sees to it that a run is alone in its work tree: it looks for other runs
// and for sessions of session-orchestrator, does about them what the person has said, and
// makes the run visible to them.
package beside
