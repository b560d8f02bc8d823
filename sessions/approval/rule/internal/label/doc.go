// Package label knows what a name says of what bears it: that it is in production, that it
// is there for tests only, that a build or a test makes it anew, or that it decides what
// runs.
package label
