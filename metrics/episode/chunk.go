package episode

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"autopilot/metrics/plainfile"
)

const (
	chunkExt    = ".jsonl"
	indexExt    = ".idx"
	digits      = 6
	tailBytes   = 4096 // before the covered end that are compared
	indexLimit  = 256 << 20
	offsetLimit = 1 << 31 // bytes of a chunk that gets an index
)

func (s *Store) chunk(no int) string { return s.file(no, chunkExt) }

func (s *Store) index(no int) string { return s.file(no, indexExt) }

func (s *Store) file(no int, ext string) string {
	return filepath.Join(s.dir, fmt.Sprintf("%0*d%s", digits, no, ext))
}

// chunks returns the numbers of the chunks in order; none for a missing folder.
func (s *Store) chunks() ([]int, error) {
	d, err := os.Open(s.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, name := range names {
		if no, ok := numberOf(name, chunkExt); ok {
			numbers = append(numbers, no)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// numberOf returns the number in the name of a file of ours.
func numberOf(name, ext string) (int, bool) {
	base, ok := strings.CutSuffix(name, ext)
	if !ok || len(base) < digits || strings.Trim(base, "0123456789") != "" {
		return 0, false
	}
	no, err := strconv.Atoi(base)
	if err != nil || no < 1 || len(base) != max(digits, len(strconv.Itoa(no))) {
		return 0, false
	}
	return no, true
}

// doc is where a line stands in its chunk and how long it is.
type doc struct {
	offset int64
	size   uint32 // bytes without the blanks around it; 0 when it is broken
	length uint32 // terms
}

// posting says how often one line has a term.
type posting struct {
	doc uint32 // counted from 0
	tf  uint32
}

// segment is one chunk as a reader sees it.
type segment struct {
	no     int
	docs   []doc       // one per line
	live   int         // lines that are not broken
	length int64       // terms of all lines
	rest   int         // lines at the end that no index covers
	hits   [][]posting // per term that was asked for, in the order of the lines
}

// reader says how a segment is to be read.
type reader struct {
	terms []string // whose postings are wanted
	buf   *[]byte  // used again between segments; may be nil
	plain bool     // without the index
	count bool     // of what no index covers only the lines are counted
}

// segment reads the chunk no: what its index covers from there, the rest as text. A
// chunk that is not there is empty.
func (s *Store) segment(no int, r reader) (segment, error) {
	seg := segment{no: no, hits: make([][]posting, len(r.terms))}
	var x index
	var usable bool
	if !r.plain {
		x, usable = s.loadIndex(no, r.buf)
	}
	t, err := s.text(no, x, usable)
	if vanished(err) {
		return seg, nil
	}
	if err != nil {
		return seg, err
	}
	if t.covered && seg.take(x, r.terms) != nil {
		r.plain = true
		return s.segment(no, r)
	}
	seg.scan(t, r)
	return seg, nil
}

// take fills the segment from an index. After an error it is of no use.
func (g *segment) take(x index, terms []string) error {
	g.docs = x.allDocs()
	g.live, g.length = x.lines-x.broken, x.length
	for i, term := range terms {
		var err error
		if g.hits[i], err = x.find(term); err != nil {
			return err
		}
	}
	return nil
}

// scan adds the lines of a text.
func (g *segment) scan(t text, r reader) {
	if len(t.data) == 0 {
		return
	}
	slot := make(map[string]int, len(r.terms))
	for i, term := range r.terms {
		slot[term] = i
	}
	eachLine(t.data, func(at int, line []byte) {
		n := uint32(len(g.docs))
		g.rest++
		var e Episode
		ok := false
		if !r.count {
			e, ok = skim(line)
		}
		if !ok {
			g.docs = append(g.docs, doc{})
			return
		}
		length := uint32(0)
		eachTerm(e, func(term []byte) {
			length++
			if i, ok := slot[string(term)]; ok {
				g.hits[i] = count(g.hits[i], n)
			}
		})
		g.docs = append(g.docs, doc{offset: t.from + int64(at), size: uint32(len(line)), length: length})
		g.live++
		g.length += int64(length)
	})
}

// count adds one to the term's frequency in the line n, which is the last one so far.
func count(list []posting, n uint32) []posting {
	if k := len(list) - 1; k >= 0 && list[k].doc == n {
		list[k].tf++
		return list
	}
	return append(list, posting{doc: n, tf: 1})
}

// text is the part of a chunk that has to be read because no index covers it.
type text struct {
	covered bool  // what stands before it is covered
	from    int64 // offset of data
	data    []byte
	mtime   int64 // of the chunk when it was opened
}

// text reads what the index x does not cover; all, when it does not fit.
func (s *Store) text(no int, x index, usable bool) (text, error) {
	path := s.chunk(no)
	if usable { // the usual case costs one look
		info, err := os.Stat(path)
		if err != nil {
			return text{}, err
		}
		if info.Size() == x.covered && info.ModTime().UnixNano() == x.mtime {
			return text{covered: true, from: x.covered, mtime: x.mtime}, nil
		}
	}
	f, info, err := plainfile.Open(path)
	if err != nil {
		return text{}, err
	}
	defer f.Close()
	size, mtime := info.Size(), info.ModTime().UnixNano()
	if usable && size > x.covered {
		back := min(x.covered, tailBytes)
		data, err := readAt(f, x.covered-back, size)
		if err != nil {
			return text{}, err
		}
		if int64(len(data)) >= back && checksum(data[:back]) == x.tail {
			return text{covered: true, from: x.covered, data: data[back:], mtime: mtime}, nil
		}
	}
	data, err := readAt(f, 0, size)
	return text{data: data, mtime: mtime}, err
}

// readAt returns the bytes of f from the offset from to the offset to, or to its end
// when it has become shorter.
func readAt(f *os.File, from, to int64) ([]byte, error) {
	data := make([]byte, to-from)
	n, err := f.ReadAt(data, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return data[:n], nil
}

// eachLine calls fn for the lines of data that have an end and are not blank, with
// their offset and without the blanks around them. It returns the offset behind the
// last line that has an end.
func eachLine(data []byte, fn func(at int, line []byte)) int {
	at := 0
	for {
		n := bytes.IndexByte(data[at:], '\n')
		if n < 0 {
			return at
		}
		line := bytes.TrimLeft(data[at:at+n], " \t\r")
		begin := at + n - len(line)
		if line = bytes.TrimRight(line, " \t\r"); len(line) > 0 {
			fn(begin, line)
		}
		at += n + 1
	}
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
