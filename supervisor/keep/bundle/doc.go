// Package bundle packs files into one archive that a person can hand on, without what looks
// like a secret.
//
// # Guarantees
//
// The archive is a gzip-compressed tar: the files in the order of their names, all with the
// same time and mode, then manifest.json, which has the SHA-256 of each, says how much was
// taken out of it, and names what was left out and why. The same files give the same bytes.
//
// Every text goes through a Redactor: names of files, keys and values of JSON, lines of logs.
// JSON is parsed first, so that a secret which is written with escapes is seen as what it is;
// in other text escapes of the form \u0073 are looked through as well, also when they are
// escaped again.
//
// No more than a few MiB of a file are held or packed: of a longer one the beginning and the
// end, cut where no word is cut, with a line between them that says how much is missing.
// Compressed files of a run are packed as they were before. Symlinks, what is no regular
// file, and binary files are named and left out.
//
// # On failure
//
// A file that cannot be read is named in the manifest and keeps nothing else. An error is
// returned only when the archive itself cannot be written.
//
// # What is not seen
//
// A secret that has neither the form of one that is known, nor a telling name in front of it,
// nor stands in this process's environment. One in base64, unless the value stands in the
// environment; in hexadecimal or percent notation; one that is broken over lines or over
// several values, or has colour sequences in it. A user's name in an e-mail address or in
// other words than alone. Whoever hands the archive on has to look through it.
package bundle
