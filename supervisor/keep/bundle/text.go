package bundle

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"
)

const (
	part      = 1 << 20 // bytes of the beginning, and of the end, of a long file
	wholeJSON = 8 << 20 // bytes of a JSON file that is packed whole
	headLook  = 8 << 10 // bytes that tell text from what is none
	cutLook   = 64 << 10
	lineBytes = 1 << 20 // of a line that is read as JSON
)

// content is a file as far as it is packed.
type content struct {
	head, tail []byte // tail is nil when head is all of it
	missing    int64  // bytes between the two
	size       int64
}

// read reads a file: all of one that has at most most bytes, else the beginning and the end.
func read(r io.Reader, most int) (content, error) {
	head, err := io.ReadAll(io.LimitReader(r, int64(most)))
	c := content{head: head, size: int64(len(head))}
	if err != nil || len(head) < most {
		return c, err
	}
	if f, ok := r.(*os.File); ok { // the middle of a long one need not be read
		if info, err := f.Stat(); err == nil && info.Size() > int64(most+part) {
			if _, err := f.Seek(info.Size()-part, io.SeekStart); err != nil {
				return c, err
			}
			c.size = info.Size() - part
		}
	}
	last := &ring{}
	n, err := io.Copy(last, r)
	if err != nil || n == 0 {
		return c, err
	}
	c.size += n
	c.tail = last.bytes()
	c.head = head[:min(part, len(head))]
	c.cut()
	return c, nil
}

// cut takes from both ends of what is left out up to where no word is cut, so that no half of
// a secret stays.
func (c *content) cut() {
	if i := bytes.LastIndexByte(c.head[len(c.head)-min(len(c.head), cutLook):], '\n'); i >= 0 {
		c.head = c.head[:len(c.head)-min(len(c.head), cutLook)+i+1]
	} else {
		c.head = c.head[:bytes.LastIndexFunc(c.head, outside)+1]
	}
	if i := bytes.IndexByte(c.tail[:min(len(c.tail), cutLook)], '\n'); i >= 0 {
		c.tail = c.tail[i+1:]
	} else if i := bytes.IndexFunc(c.tail, outside); i >= 0 {
		c.tail = c.tail[i+1:]
	} else {
		c.tail = c.tail[:0]
	}
	c.missing = c.size - int64(len(c.head)+len(c.tail))
}

// outside reports whether a character is in no secret.
func outside(c rune) bool {
	return !wordy(c) && !strings.ContainsRune(`-./+=~\`, c)
}

// ring keeps the last bytes that were written to it.
type ring struct {
	buf  []byte
	next int
	full bool
}

// Write never fails.
func (r *ring) Write(p []byte) (int, error) {
	if r.buf == nil {
		r.buf = make([]byte, part)
	}
	n := len(p)
	if len(p) > len(r.buf) {
		p = p[len(p)-len(r.buf):]
	}
	for len(p) > 0 {
		m := copy(r.buf[r.next:], p)
		p = p[m:]
		r.next += m
		if r.next == len(r.buf) {
			r.next, r.full = 0, true
		}
	}
	return n, nil
}

func (r *ring) bytes() []byte {
	if !r.full {
		return r.buf[:r.next]
	}
	return append(bytes.Clone(r.buf[r.next:]), r.buf[:r.next]...)
}

// isText tells text, also with a few bytes of something else in it, from what is none.
func isText(data []byte) bool {
	head := data[:min(len(data), headLook)]
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	bad, all := 0, 0
	for len(head) > 0 {
		c, n := utf8.DecodeRune(head)
		if c == utf8.RuneError && n == 1 && utf8.FullRune(head) {
			bad++
		}
		all++
		head = head[n:]
	}
	return bad*10 <= all
}

// clean is a file without secrets, in its form.
func (r *Redactor) clean(c content, form Form) []byte {
	if form == JSON && c.tail == nil {
		if out, err := r.JSON(c.head, false); err == nil {
			return out
		}
	}
	var out []byte
	each := r.text
	if form == Lines {
		each = r.lines
	}
	out = append(out, each(c.head)...)
	if c.tail != nil {
		out = append(out, gap(form, c.missing)...)
		out = append(out, each(c.tail)...)
	}
	return out
}

func gap(form Form, missing int64) string {
	if form == Lines {
		return fmt.Sprintf("{\"autopilot_export\":\"%d bytes are left out here\"}\n", missing)
	}
	return fmt.Sprintf("\n[autopilot export: %d bytes are left out here]\n", missing)
}

func (r *Redactor) text(data []byte) []byte { return []byte(r.Text(string(data))) }

// lines cleans a JSON value in each line; a line that is none is text.
func (r *Redactor) lines(data []byte) []byte {
	var out []byte
	for line := range bytes.Lines(data) {
		if len(line) <= lineBytes && len(bytes.TrimSpace(line)) > 0 {
			if v, err := r.JSON(line, true); err == nil {
				out = append(out, v...)
				continue
			}
		}
		out = append(out, r.text(line)...)
	}
	return out
}
