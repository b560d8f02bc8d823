// Package episode keeps what became of earlier work, finds what is like the work
// ahead, and says in a few lines what it teaches. It needs nothing but a folder.
//
// Guarantees:
//
//   - An episode that Append returned is on the disk, whoever is killed and
//     whenever. Several processes may append, recall and prune at once: none is
//     lost, and none is there twice.
//   - Recall finds the same with an index, without one, and with a broken one.
//   - What is stored is bounded, and what looks like a secret is taken out before.
//   - Advise, Predict and Reward are pure: they read no file and no clock, and say
//     nothing that no episode shows.
//
// # On the disk
//
// A store is a folder:
//
//	000001.jsonl  1,024 episodes, a JSON object per line, appended through a journal
//	000001.idx    an index of the first lines of that chunk
//	index.tmp     an index while it is written
//	lock          taken by whoever appends, prunes or puts an index back
//
// Chunks are numbered in the order in which they were begun, and no number is used
// again while a later one is there. The order of the lines is the order in time:
// the clock is not asked, so one that goes back changes nothing.
//
// The index of the last chunk is renewed with every 32 episodes and covers a
// beginning of the chunk; what came later is read as text. That of a full chunk
// covers it all and does not change any more. All numbers are little-endian:
//
//	 0  magic "episode\n"
//	 8  version, 4 bytes
//	12  checksum of all that follows, CRC-32C, 4 bytes
//	16  bytes of the chunk that are covered, 8 bytes
//	24  the chunk's time of change then, nanoseconds since 1970, 8 bytes
//	32  checksum of the last 4,096 covered bytes, CRC-32C, 4 bytes
//	36  lines, and how many of them are broken, 4 bytes each
//	44  terms in all lines, 8 bytes
//	52  lists, a power of two, 4 bytes
//	56  per line: offset in the chunk, bytes (0 when broken), terms; 4 bytes each
//	 -  where each list begins behind this table, and where the last one ends; 4 bytes each
//	 -  the lists: term (length, bytes), lines that have it, bytes of the pairs, and
//	    pairs of (distance to the line before, how often); varints
//
// A term is in the list that FNV-1a (Fowler, Noll, Vo) of 32 bits names. An index
// counts when its checksum is right and the chunk has the covered size and time of
// change, or is longer and has the same bytes before the covered end. Else the
// chunk is read as text, and the index is put back by whoever notices.
//
// # Pruning
//
// When more than Keep + 1,024 episodes are there, Append removes the oldest chunks
// as a whole, as long as Keep episodes stay. A chunk that is not the last one counts
// as full.
//
// # Failure and crash
//
// A full disk is a *journal.FullError, and the episode is not stored. An index that
// cannot be written is no error. A line that is no episode is skipped by all that
// read, and Check tells of it. A missing folder is an empty store. Whoever is killed
// leaves at most a broken end, which the journal moves aside, an index that lags
// behind, or an index without a chunk, which the next pruning removes.
//
// It refuses to give an episode a second id, to wait for a lock without limit, and
// to let text into advice that has more than one line.
//
// # Why
//
// The index is read as a whole and checked as a whole, and not mapped into memory:
// a file that is cut short under a mapping kills its reader, and reading costs tens
// of microseconds a chunk.
//
// # Rough edges
//
// A line changed by hand, with the size of the chunk kept and its time of change
// set back, is found by its old words.
package episode
