// Package entrytest checks a sender of package entry against a server on this machine that
// stands for the service. It is for tests only.
package entrytest
