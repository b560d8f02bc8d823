// Package install puts autopilot into a repository and takes it out again: two
// hooks and the limits in .claude/settings.json, the MCP server in .mcp.json, a
// section in CLAUDE.md and a template of autopilot.yaml. The Stop hook sends a
// session on that stops with open tasks; the SessionStart hook tells one that
// begins what remains.
//
// Where Task Master is at work, which is where there is a folder .taskmaster, the
// section also tells how to do one of its tasks test first, and .gitignore gets two
// lines for what it leaves behind. When it comes later, so do they with the next init.
//
// Plan and PlanUninstall only read. What they return can be shown as a diff and
// then applied.
//
// # Guarantees
//
//   - Text is inserted and nothing else moves: comments, order, indentation, line
//     ends, byte-order marks and modes of the person's files stay. What is
//     inserted follows the indentation of the file.
//   - Every check of every file comes before the first write, and a file that has
//     changed since it was planned stops Apply before that write too.
//   - A second Plan after Apply has nothing to do.
//   - Each hook is added when it is missing, whatever becomes of the other. So a
//     repository that was set up before there was a second one gets it from the
//     next init, and uninstall still leads back to what was before the first.
//   - Uninstall gives the original bytes back where a file is as Apply left it,
//     and removes what was not there before. Where somebody has edited the file
//     since, only what was put in is cut out, with its commas.
//
// # The record
//
// Before the first change Apply writes, into a file outside the repository, what
// every file was and what it is about to become. So a run that is killed between
// two files can be completed by running it again, or undone. Without a record
// uninstall knows our entries by what they say: a hook whose program is autopilot
// and that ends in "hook stop" under Stop, or in "hook session-start" under
// SessionStart, a server that runs "autopilot mcp", the limits exactly as they are
// written here, the section and the lines in .gitignore between their two markers.
//
// The record holds copies of the files, and .mcp.json may hold secrets: it is
// written with mode 0600.
//
// # On failure
//
// Each file is replaced as a whole or not at all. An error in the middle leaves
// the files before it changed and the record in place.
//
// A process killed inside the replacement of one file leaves a temporary file
// beside it, whose name is a dot, the name of that file and a long random number.
// The next Apply removes such files beside the files that take part in it, and
// beside the record, when they are older than a minute; younger ones may belong to
// a process that lives. No other file is removed, however similar its name is.
//
// # What it refuses
//
// Files that are no JSON (with comments and trailing commas allowed), containers
// of the wrong type, names that stand there twice, read-only files and folders,
// links that lead out of the repository or to nothing, section markers without
// their partner. The refusal names the file and the line.
//
// # Rough edges
//
// Claude Code ignores a settings file or .mcp.json with comments or trailing
// commas as a whole and says nothing; it accepts a byte-order mark. Such files are
// edited with the same care, and a note says that they have no effect.
//
// A command that is an absolute path is written as it is into files that are meant
// for everybody who works in the repository; a note says so.
//
// When there is nothing to change, nobody calls Apply, and a temporary file stays.
// One that is too young when uninstall runs keeps the folder it is in.
package install
