package mode

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"autopilot/metrics/plainfile"
)

const (
	firstBlock    = 64 << 10
	maxTail       = 32 << 20
	maxHead       = 1 << 20
	byteOrderMark = "\ufeff"
)

// tailed is what the end of a JSON Lines file held.
type tailed[T any] struct {
	// records are in file order.
	records []T
	// broken counts the lines that hold no JSON object, among those looked at; lastBroken is the byte the last of them
	// begins at.
	broken     int
	lastBroken int64
	// cut is set when maxTail was reached before enough records were found.
	cut bool
}

// tail reads records from the end of a file until it has the wanted number that keep accepts. It reads a small block
// and doubles it as long as it does not suffice, so that the cost depends on the records wanted, not on the file.
func tail[T any](name string, want int, keep func(*fields) (T, bool)) (tailed[T], error) {
	file, info, err := plainfile.Open(name)
	if err != nil {
		return tailed[T]{}, err
	}
	defer file.Close()
	end := info.Size()
	for span := int64(firstBlock); ; span *= 2 {
		span = min(span, end, maxTail)
		block := make([]byte, span)
		n, err := file.ReadAt(block, end-span)
		if err != nil && !errors.Is(err, io.EOF) {
			return tailed[T]{}, err
		}
		out := scan(block[:n], end-span, want, keep)
		out.cut = span == maxTail && span < end && len(out.records) < want
		if len(out.records) == want || span == end || span == maxTail {
			return out, nil
		}
	}
}

// scan goes through a block backwards. The first line of a block that does not start the file is half a line at best.
func scan[T any](block []byte, offset int64, want int, keep func(*fields) (T, bool)) tailed[T] {
	var out tailed[T]
	for len(block) > 0 && len(out.records) < want {
		start := bytes.LastIndexByte(block, '\n') + 1
		if start == 0 && offset > 0 {
			break
		}
		line := bytes.TrimSpace(bytes.TrimPrefix(block[start:], []byte(byteOrderMark)))
		block = block[:max(0, start-1)]
		if len(line) == 0 {
			continue
		}
		entry, err := parseFields(line)
		if err != nil || entry.members == nil {
			out.broken++
			out.lastBroken = max(out.lastBroken, offset+int64(start))
			continue
		}
		if record, ok := keep(entry); ok {
			out.records = append(out.records, record)
		}
	}
	slices.Reverse(out.records)
	return out
}

// readHead returns at most the first maxHead bytes of a file.
func readHead(name string) ([]byte, error) {
	file, _, err := plainfile.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxHead))
}
