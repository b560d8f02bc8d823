package journal

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	firstBlock = 64 << 10
	lastBlock  = 4 << 20
)

// piece is what stands between two newlines, or between one and an end of the
// file. Its bytes are [start, end), without the newline.
type piece struct {
	text       []byte // nil when long
	start, end int64
	long       bool // over MaxLine
	open       bool // no newline follows
	number     int  // counted from 1, only when read forward
}

// backward reads the pieces of a file from its end in blocks that double. The
// first piece is the unterminated tail, empty when there is none.
type backward struct {
	r     io.ReaderAt
	buf   []byte // read and not handed out, up to end
	fresh int    // a newline can only be in buf[:fresh]
	start int64  // offset of buf
	end   int64  // of the piece at hand
	block int64
	long  bool
	open  bool
	done  bool
}

func newBackward(r io.ReaderAt, size int64) *backward {
	return &backward{r: r, start: size, end: size, block: firstBlock, open: true}
}

// next returns io.EOF after the first piece of the file, and
// io.ErrUnexpectedEOF when the file has become shorter.
func (b *backward) next() (piece, error) {
	for {
		if i := bytes.LastIndexByte(b.buf[:b.fresh], '\n'); i >= 0 {
			p := b.take(i + 1)
			b.buf, b.fresh, b.end = b.buf[:i:i], i, b.start+int64(i)
			return p, nil
		}
		if b.start == 0 {
			if b.done {
				return piece{}, io.EOF
			}
			b.done = true
			return b.take(0), nil
		}
		if b.long || len(b.buf) > MaxLine {
			b.long, b.buf, b.fresh = true, nil, 0
		}
		if err := b.fill(); err != nil {
			return piece{}, err
		}
	}
}

func (b *backward) take(i int) piece {
	p := piece{start: b.start + int64(i), end: b.end, open: b.open}
	p.long = b.long || p.end-p.start > MaxLine
	if !p.long {
		p.text = b.buf[i:]
	}
	b.long, b.open = false, false
	return p
}

func (b *backward) fill() error {
	n := min(b.block, b.start)
	buf := make([]byte, n+int64(len(b.buf)))
	copy(buf[n:], b.buf)
	if got, err := b.r.ReadAt(buf[:n], b.start-n); int64(got) < n {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return err
	}
	b.buf, b.fresh = buf, int(n)
	b.start, b.block = b.start-n, min(2*b.block, lastBlock)
	return nil
}

// forward reads the pieces of a file in their order. The text of a piece is good
// until the next call.
type forward struct {
	r      *bufio.Reader
	offset int64
	number int
	buf    []byte
}

func newForward(r io.Reader, offset int64) *forward {
	return &forward{r: bufio.NewReaderSize(r, firstBlock), offset: offset}
}

// next returns io.EOF at the end of the file. An unterminated tail comes before
// that, as an open piece.
func (s *forward) next() (piece, error) {
	s.number++
	p := piece{start: s.offset, number: s.number}
	s.buf = s.buf[:0]
	for {
		part, err := s.r.ReadSlice('\n')
		s.offset += int64(len(part))
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && !errors.Is(err, io.EOF) {
			return piece{}, err
		}
		p.open = errors.Is(err, io.EOF)
		p.end = s.offset
		if err == nil {
			part, p.end = part[:len(part)-1], p.end-1
		}
		if p.open && p.end == p.start {
			return piece{}, io.EOF
		}
		p.long = p.end-p.start > MaxLine
		ended := err == nil || p.open
		switch {
		case p.long:
			s.buf = s.buf[:0]
		case ended && len(s.buf) == 0:
			p.text = part // the common case, without a copy
		default:
			s.buf = append(s.buf, part...)
			p.text = s.buf
		}
		if ended {
			if p.long {
				p.text = nil
			}
			return p, nil
		}
	}
}
