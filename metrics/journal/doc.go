// Package journal writes and reads append-only JSONL files: one JSON value per
// line, which other programs may read, and append to, at the same time.
//
// Guarantees:
//
//   - A record that Append acknowledged is on the disk and is not lost, whoever is
//     killed and whenever.
//   - Writers of this package never mix their lines, in one process or in many.
//   - A line of at most 2,048 bytes, its newline included, becomes visible to
//     readers as a whole, as long as only this package writes to the file. A longer
//     one may be seen cut off for microseconds: readers have to leave an
//     unterminated end alone, as those of this package do.
//   - The cost of an append does not depend on the size of the journal.
//   - Symlinks are followed and stay, the mode of the file is kept.
//
// # Failure and crash
//
// A killed writer may leave an unterminated line at the end. The next writer waits
// until it does not grow any more. In a journal that is ours alone it then moves
// the fragment to <name>.torn-<time> beside the journal and cuts it off; the first
// writer also parses the last line, because a power cut may leave zeros that end
// in a newline. In a journal that foreign programs append to nothing is ever cut:
// the next record begins with a newline, and the fragment stays as one broken line
// that Check reports.
//
// A full disk is a *FullError; the part that was written is taken back. A failed
// sync is ErrNotDurable: the kernel reports a lost page once and forgets it, so
// the writer refuses everything from then on.
//
// It refuses to cut a file in which no line is JSON, to write what is not one line
// of JSON in UTF-8, and to wait for a lock without limit.
//
// # Why
//
// One write with O_APPEND is atomic between writers, but neither for readers nor
// for a kill: the kernel copies page by page, shows the new size after each page,
// and looks for a deadly signal in between. So a short record is kept inside one
// page of 4 KiB: where less than 2,048 bytes of the page would be left behind it,
// the line is filled with spaces up to the page's end. JSON readers skip them.
// Records of 800 bytes take 1,365 in this way.
//
// The lock is an flock on the journal itself. It excludes exactly those who agree
// on the file, needs no second name, and the kernel drops it with its holder.
//
// # Rough edges
//
// A foreign program that rewrites the file and renames it into place may drop a
// record that was appended while it did so. Keep the truth elsewhere and offer
// the record again with AppendUnless. A foreign line that ends late in a page
// makes our next line cross the page's end. On network file systems flock depends
// on the mount.
package journal
