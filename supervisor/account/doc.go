// Package account remembers which usage limits hold for whom on this machine, so that a
// limit that one run has met need not be met by all others that use the same account.
//
// An account is known by a hash of what names it: the provider and its address, and the
// credential that Claude Code would choose, or for a login the account that its global
// configuration names. Neither a credential nor a name is ever written.
//
// # Guarantees
//
// Each account has one file below the state folder, which is replaced as a whole.
// Several processes may note and clear at once; nothing that one noted is lost to
// another. Limits are kept per kind and model. Nobody waits for ever for a wrong clock:
// a limit that was noted more than eight days ago, or for more than eight days, never
// holds, nor does one that was noted in the future, since the clock was set back
// after it.
//
// # On failure and crash
//
// To know of no limit costs one request that is refused, to believe in a wrong one costs
// days. So whatever is missing, unreadable or broken is no limit; Check tells of it. A
// broken file is replaced by the next limit that is noted. Nothing is synced: after a
// power cut a limit may be forgotten. On a full disk the old limits stay.
//
// # What it refuses to do
//
// It asks no server, reads no credential store, and waits for nothing but the lock of
// its file, two seconds at most.
//
// # Why
//
// Where it is in doubt whether two environments are one account they are two, for the
// same reason. An answer for one model says nothing about the limit of another, so there
// are two ways to clear.
//
// # Rough edges
//
// Credentials in settings files (a helper program that prints a key, variables that a
// settings file sets) are not seen; they count as the login of their configuration
// folder. Files of accounts that are used no more stay; each is some hundred bytes.
package account
