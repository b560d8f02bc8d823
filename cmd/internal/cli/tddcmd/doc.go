// Package tddcmd has the commands of test-driven work. With --json an answer goes to
// stdout in the form that the tools of the MCP server have too, and a refusal goes to
// stderr in the same way; the exit code says which kind of refusal it is.
package tddcmd
