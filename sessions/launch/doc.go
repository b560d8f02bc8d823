// Package launch decides with which arguments, environment and settings a
// Claude Code process is started. It is pure: it starts nothing and reads
// nothing, so that a plan can show exactly what a run would do.
//
// What is set for unattended work: no background tasks and no wake-ups, so that
// a process ends when its work ends; no updates and no traffic but the API's, so
// that the binary stays the one that was tested; start-up failures as events;
// our hooks through a settings file of the session.
//
// A session without tools can only answer. It reads nothing of the repository, its
// instructions, hooks and servers among it, and is cheap: a request of it has a
// few per cent of the usual size.
//
// What is taken away: the variables that a surrounding Claude Code session
// leaves behind, and ANTHROPIC_API_KEY unless it was asked for, because a stray
// key silently bills a whole night.
package launch
