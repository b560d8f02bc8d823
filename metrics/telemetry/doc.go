// Package telemetry says how a machine's runs are in the forms that monitoring reads: the
// text format of Prometheus (0.0.4), OpenMetrics (1.0.0), the JSON encoding of the
// OpenTelemetry protocol, and a dashboard for Grafana. All four come from one table of
// metrics, and all but Handler are pure: they are given the facts and read no file, no clock
// and no network.
//
// # Guarantees
//
// Any facts give valid output. Names follow the conventions of Prometheus: a prefix, base
// units at the end, _total for counters, _info for what is always 1. A number that cannot be
// (negative, not finite), a time that is not known and a second value for the same labels
// are left out. Texts in labels are cut to 100 characters and have no secrets and no control
// characters.
//
// The number of series is bounded: 200 runs that are on, 200 repositories and in each 40
// causes, endings and reasons, 100 schedules. Ids of runs are labels only while these are
// on. What is above a bound is left out of what is told one by one, and counted under the
// name other in counters.
//
// Counters come from the ledgers, as Tally has counted them. They do not go down while the
// ledgers are only appended to: a name that was counted by itself stays so, a record counts
// once however often it is there, and sums stop at 2^53 instead of turning over. What is on
// is told by gauges, and moves into the counters when it has ended.
//
// The tier is a set of gauges, one for each tier, of which one is 1: so the label is called
// tier in every form, which the type stateset of OpenMetrics would not allow.
//
// # Why
//
// The client library of Prometheus and the SDK of OpenTelemetry are not used: linked in,
// they take 3 MB and 1 to 2 ms, and 8 MB and 2 ms of each start of a program that also
// answers hooks within a few milliseconds, most of which is spent in initialisers that run
// whether metrics are wanted or not. What is written here is compared with their parsers in
// the tests.
//
// # What it refuses
//
// It sends nothing and opens no port; Handler is mounted by who has one.
package telemetry
