// Package desk has the commands of persistent completion: what sets a repository up
// for it, switches it, shows what it did and what it learned, and what Claude Code
// calls back: the Stop hook and the MCP server.
//
// It only reads flags, asks a completion.Desk, and prints; the decisions are there.
package desk
