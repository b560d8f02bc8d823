// Package spool keeps notices of a work tree on disk until a channel has taken them, and
// what the limiter of each channel knows.
//
// Guarantees:
//
//   - A notice that was put, and was not dropped by the limiter, survives whoever is killed
//     and a power cut. The next run in the work tree, or a person, sends it.
//   - A try is written down before it is made: who is killed within one causes one more at
//     most, and after some tries or some days a notice is given up. The result says so.
//   - A notice belongs to the process that put it until that is gone; no other sends it.
//   - The file is for the user alone and holds clean texts without secrets. Channels stand
//     in it by the digest of their address.
//
// # Failure and crash
//
// A file that cannot be read or written is an error, and what was to be done is done in
// memory: notices still go out, but do not survive the process. A file that is broken is
// set aside under another name and begun anew.
//
// A box without a path keeps everything in memory.
package spool
