// Package config turns defaults, files, the environment and flags into one
// checked set of values, and remembers where each value came from.
//
// Layers, each over the one before: built-in defaults, the person's own
// config.yaml, the Session Config section of CLAUDE.md or AGENTS.md, three sections
// of Task Master's .taskmaster/config.json, the repository's autopilot.yaml,
// AUTOPILOT_* variables, flags.
//
// A number out of its bounds is moved to the nearest bound and the setting says
// so; what is not a number, and a key that is not known, is an error that names
// the key, the place and the nearest known key. All problems are reported at
// once. Nothing is started before a configuration is valid.
//
// # Why
//
// One table lists every option; flags, variables, file keys, help text and the
// listing with its origins are all made from it. YAML files are read as nodes
// and not through a merging library, because an error has to name the line.
//
// A repository is not trusted with everything: the path of the claude binary,
// the use of an API key and the bypass of permissions are refused in the files
// of a repository, since cloning one must not decide what runs. Nor may it choose
// a folder outside the person's home that is written to.
package config
