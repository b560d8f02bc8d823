package episode

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	indexMagic   = "episode\n"
	indexVersion = 1
	headerBytes  = 56
	sumBegins    = 16 // what stands before it is not in the checksum
	docBytes     = 12
	termsPerList = 8
	maxLines     = 1 << 20
)

// errIndex is returned when an index is not what it should be.
var errIndex = errors.New("index is broken")

// index is the content of an index file, whose parts point into it.
type index struct {
	covered int64 // bytes of the chunk
	mtime   int64 // of the chunk, nanoseconds since 1970
	tail    uint32
	lines   int
	broken  int
	length  int64 // terms of all lines
	docs    []byte
	starts  []byte // of the lists
	lists   []byte
}

// parseIndex takes an index apart. Whatever stands in data, it does not panic, and
// neither do the methods of what it returns.
func parseIndex(data []byte) (index, error) {
	if len(data) < headerBytes || string(data[:len(indexMagic)]) != indexMagic {
		return index{}, errIndex
	}
	u32, u64 := binary.LittleEndian.Uint32, binary.LittleEndian.Uint64
	if u32(data[8:]) != indexVersion || u32(data[12:]) != checksum(data[sumBegins:]) {
		return index{}, errIndex
	}
	x := index{
		covered: int64(u64(data[16:])), mtime: int64(u64(data[24:])), tail: u32(data[32:]),
		lines: int(u32(data[36:])), broken: int(u32(data[40:])), length: int64(u64(data[44:])),
	}
	lists := int(u32(data[52:]))
	body := data[headerBytes:]
	room := len(body) - x.lines*docBytes - (lists+1)*4
	switch {
	case x.covered < 0 || x.length < 0 || x.lines > maxLines || x.broken > x.lines:
		return index{}, errIndex
	case lists < 1 || lists > len(data) || bits.OnesCount(uint(lists)) != 1 || room < 0:
		return index{}, errIndex
	}
	x.docs, body = body[:x.lines*docBytes], body[x.lines*docBytes:]
	x.starts, x.lists = body[:(lists+1)*4], body[(lists+1)*4:]
	return x, nil
}

func (x index) allDocs() []doc {
	docs := make([]doc, x.lines)
	for i := range docs {
		b := x.docs[i*docBytes:]
		docs[i] = doc{
			offset: int64(binary.LittleEndian.Uint32(b)),
			size:   binary.LittleEndian.Uint32(b[4:]),
			length: binary.LittleEndian.Uint32(b[8:]),
		}
	}
	return docs
}

// find returns the postings of term; none when no line has it.
func (x index) find(term string) ([]posting, error) {
	list, err := x.list(listOf(term, len(x.starts)/4-1))
	if err != nil {
		return nil, err
	}
	for len(list) > 0 {
		var e entry
		if e, list, err = nextEntry(list); err != nil {
			return nil, err
		}
		if string(e.term) == term {
			return x.postings(make([]posting, 0, e.count), e)
		}
	}
	return nil, nil
}

func (x index) list(n int) ([]byte, error) {
	from := binary.LittleEndian.Uint32(x.starts[4*n:])
	to := binary.LittleEndian.Uint32(x.starts[4*n+4:])
	if from > to || int64(to) > int64(len(x.lists)) {
		return nil, errIndex
	}
	return x.lists[from:to], nil
}

// entry is one term in a list.
type entry struct {
	term  []byte
	count int
	pairs []byte
}

func nextEntry(list []byte) (e entry, rest []byte, err error) {
	if e.term, list, err = chunkOf(list); err != nil {
		return e, nil, err
	}
	n, w := binary.Uvarint(list)
	if w <= 0 {
		return e, nil, errIndex
	}
	if e.pairs, rest, err = chunkOf(list[w:]); err != nil {
		return e, nil, err
	}
	if n > uint64(len(e.pairs)) { // a pair has two bytes at least
		return e, nil, errIndex
	}
	e.count = int(n)
	return e, rest, nil
}

// chunkOf cuts off what stands behind its own length.
func chunkOf(b []byte) (part, rest []byte, err error) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w) {
		return nil, nil, errIndex
	}
	return b[w : w+int(n)], b[w+int(n):], nil
}

// postings appends those of e to out.
func (x index) postings(out []posting, e entry) ([]posting, error) {
	next, at := uint64(0), 0
	for range e.count {
		gap, w := binary.Uvarint(e.pairs[at:])
		if w <= 0 {
			return nil, errIndex
		}
		at += w
		tf, w := binary.Uvarint(e.pairs[at:])
		if w <= 0 {
			return nil, errIndex
		}
		at += w
		line := next + gap
		if gap >= uint64(x.lines) || line >= uint64(x.lines) || tf == 0 || tf > 1<<31 {
			return nil, errIndex
		}
		out = append(out, posting{doc: uint32(line), tf: uint32(tf)})
		next = line + 1
	}
	return out, nil
}

// listOf is the list a term belongs to, by FNV-1a.
func listOf(term string, lists int) int {
	h := uint32(2166136261)
	for i := range len(term) {
		h = (h ^ uint32(term[i])) * 16777619
	}
	return int(h & uint32(lists-1))
}

// builder gathers what goes into an index.
type builder struct {
	docs   []doc
	broken int
	length int64
	ids    map[string]int
	terms  []string
	lists  [][]posting // per term
}

func newBuilder() *builder { return &builder{ids: make(map[string]int)} }

// resume puts in what an index has already. This is most of what the append that
// closes a chunk costs, so the postings share one piece of memory.
func (b *builder) resume(x index) error {
	b.docs, b.broken, b.length = x.allDocs(), x.broken, x.length
	lists := len(x.starts)/4 - 1
	room := (lists + lists/4) * termsPerList
	b.ids = make(map[string]int, room)
	b.terms, b.lists = make([]string, 0, room), make([][]posting, 0, room)
	slab := make([]posting, 0, len(x.lists)/2)
	for n := range lists {
		list, err := x.list(n)
		for err == nil && len(list) > 0 {
			var e entry
			if e, list, err = nextEntry(list); err != nil {
				break
			}
			from := len(slab)
			if slab, err = x.postings(slab, e); err != nil {
				break
			}
			b.put(string(e.term), slab[from:len(slab):len(slab)])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) id(term []byte) int {
	id, ok := b.ids[string(term)]
	if !ok {
		id = b.put(string(term), nil)
	}
	return id
}

// put puts in a term that is not there yet.
func (b *builder) put(term string, list []posting) int {
	id := len(b.terms)
	b.ids[term] = id
	b.terms, b.lists = append(b.terms, term), append(b.lists, list)
	return id
}

// add puts in one line of the chunk.
func (b *builder) add(offset int64, line []byte) {
	n := uint32(len(b.docs))
	e, ok := skim(line)
	if !ok {
		b.broken++
		b.docs = append(b.docs, doc{})
		return
	}
	length := uint32(0)
	eachTerm(e, func(term []byte) {
		length++
		id := b.id(term)
		b.lists[id] = count(b.lists[id], n)
	})
	b.length += int64(length)
	b.docs = append(b.docs, doc{offset: offset, size: uint32(len(line)), length: length})
}

// encode returns the index file; x gives what it says about the chunk.
func (b *builder) encode(x index) []byte {
	lists := 1
	for lists*termsPerList < len(b.terms) {
		lists *= 2
	}
	type place struct{ list, id int }
	order := make([]place, len(b.terms))
	for id, term := range b.terms {
		order[id] = place{listOf(term, lists), id}
	}
	slices.SortFunc(order, func(p, q place) int {
		if p.list != q.list {
			return p.list - q.list
		}
		return strings.Compare(b.terms[p.id], b.terms[q.id])
	})
	le := binary.LittleEndian
	out := append(make([]byte, 0, 64<<10), indexMagic...)
	out = le.AppendUint32(out, indexVersion)
	out = le.AppendUint32(out, 0) // the checksum, below
	out = le.AppendUint64(out, uint64(x.covered))
	out = le.AppendUint64(out, uint64(x.mtime))
	out = le.AppendUint32(out, x.tail)
	out = le.AppendUint32(out, uint32(len(b.docs)))
	out = le.AppendUint32(out, uint32(b.broken))
	out = le.AppendUint64(out, uint64(b.length))
	out = le.AppendUint32(out, uint32(lists))
	for _, d := range b.docs {
		out = le.AppendUint32(out, uint32(d.offset))
		out = le.AppendUint32(out, d.size)
		out = le.AppendUint32(out, d.length)
	}
	starts := len(out)
	out = append(out, make([]byte, (lists+1)*4)...)
	begin, done := len(out), 0
	var pairs []byte
	for n := range lists {
		le.PutUint32(out[starts+4*n:], uint32(len(out)-begin))
		for ; done < len(order) && order[done].list == n; done++ {
			id := order[done].id
			pairs = appendPairs(pairs[:0], b.lists[id])
			out = binary.AppendUvarint(out, uint64(len(b.terms[id])))
			out = append(out, b.terms[id]...)
			out = binary.AppendUvarint(out, uint64(len(b.lists[id])))
			out = binary.AppendUvarint(out, uint64(len(pairs)))
			out = append(out, pairs...)
		}
	}
	le.PutUint32(out[starts+4*lists:], uint32(len(out)-begin))
	le.PutUint32(out[12:], checksum(out[sumBegins:]))
	return out
}

func appendPairs(out []byte, list []posting) []byte {
	next := uint32(0)
	for _, p := range list {
		out = binary.AppendUvarint(out, uint64(p.doc-next))
		out = binary.AppendUvarint(out, uint64(p.tf))
		next = p.doc + 1
	}
	return out
}

// loadIndex reads the index of the chunk no into *buf, which may be nil; false when
// there is none that is whole.
func (s *Store) loadIndex(no int, buf *[]byte) (index, bool) {
	f, err := os.Open(s.index(no))
	if err != nil {
		return index{}, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > indexLimit {
		return index{}, false
	}
	if buf == nil {
		buf = new([]byte)
	}
	size := int(info.Size())
	if cap(*buf) < size {
		*buf = make([]byte, size+size/4)
	}
	data := (*buf)[:size]
	if _, err := io.ReadFull(f, data); err != nil {
		return index{}, false
	}
	x, err := parseIndex(data)
	return x, err == nil
}

// renewIndex writes the index of the chunk no again, so that it covers all whole
// lines. With trust it goes on from the one that is there. The lock must be held.
func (s *Store) renewIndex(no int, trust bool) error {
	var x index
	usable := false
	if trust {
		x, usable = s.loadIndex(no, nil)
	}
	t, err := s.text(no, x, usable)
	if err != nil {
		return err
	}
	b := newBuilder()
	if t.covered && b.resume(x) != nil {
		return s.renewIndex(no, false)
	}
	end := t.from + int64(eachLine(t.data, func(at int, line []byte) { b.add(t.from+int64(at), line) }))
	if end > offsetLimit || len(b.docs) > maxLines {
		return fmt.Errorf("chunk %s is too large for an index", s.chunk(no))
	}
	tail, err := s.tailOf(no, end)
	if err != nil {
		return err
	}
	return s.writeIndex(no, b.encode(index{covered: end, mtime: t.mtime, tail: tail}))
}

// writeIndex puts the index of the chunk no in its place as a whole. It is not synced:
// what a power cut leaves of it has a wrong checksum, and two syncs would be half of
// what the append costs. The lock makes one name enough.
func (s *Store) writeIndex(no int, data []byte) error {
	name := filepath.Join(s.dir, tempName)
	if err := os.WriteFile(name, data, 0o600); err != nil {
		return err
	}
	return os.Rename(name, s.index(no))
}

// tailOf is the checksum of the last bytes of the chunk no before the offset end.
func (s *Store) tailOf(no int, end int64) (uint32, error) {
	f, err := os.Open(s.chunk(no))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	data, err := readAt(f, max(0, end-tailBytes), end)
	return checksum(data), err
}
