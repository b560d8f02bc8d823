// Package ledger holds the two records that outlive a run and the rules for
// writing them: one line per run in autopilot.jsonl, one line per session in
// sessions.jsonl.
//
// # Guarantees
//
// A record that was acknowledged is on disk and stays there, also when another
// program rewrites the file without a lock while a run is on, as long as the
// caller adds it again at the end of the run: a record that may be there already
// is looked for by its id, under the file's lock, and written once. Lines that
// other programs wrote are never changed, and a line that does not parse is kept
// and skipped.
//
// # Formats
//
// Both are the formats of session-orchestrator: the run record is its schema 1
// with the 23 fields in their order and additive fields behind them, the
// session record is its schema 2. Times have exactly three decimals and a Z,
// because its validator refuses anything else.
package ledger
