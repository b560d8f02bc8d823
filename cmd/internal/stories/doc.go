// Package stories wires a cohort together for a run: where its stories come from, their
// work trees, the processes of their supervisors, and the record of how it ended.
package stories
