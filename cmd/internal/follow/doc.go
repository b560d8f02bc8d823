// Package follow gives a run what it needs to follow its goals: who looks back and what is
// checked, what each session is equipped with, and what earlier runs have taught.
package follow
