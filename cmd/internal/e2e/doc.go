// Package e2e holds the tests that run the built program with the real Claude
// Code CLI, at every pinned version, against a scripted Messages API on
// loopback. It has no code of its own. The tests need the tag e2e and the CLIs,
// which 'make e2e' installs; without them they do not exist, so that they can
// never count as passed.
package e2e
