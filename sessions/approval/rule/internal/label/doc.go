// Package label knows what a name says of what bears it: that it is in production, that it
// is there for tests only, or that a build or a test makes it anew.
package label
