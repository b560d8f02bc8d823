// Package company connects a run with those that it shares something with: all who use the
// same account, and in a cohort its coordinator and the other stories.
package company
