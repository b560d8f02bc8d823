// Package judge gathers the signals by which a run is judged before it begins, and says
// what follows from the verdict.
package judge
