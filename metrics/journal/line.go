package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

const (
	pageBytes  = 4096
	smallBytes = 2048 // a line up to this size, with its newline, stays inside one page

	// MaxLine is the size in bytes, without the newline, up to which a line is
	// written and loaded. Readers take a longer one as broken.
	MaxLine = 16 << 20
)

// checkRecord refuses what would not come back as the one line it went in as.
func checkRecord(record []byte) error {
	switch {
	case len(record) > MaxLine:
		return fmt.Errorf("record has %d bytes, %d are allowed", len(record), MaxLine)
	case bytes.IndexByte(record, '\n') >= 0:
		return errors.New("record holds a newline")
	case !json.Valid(record):
		return errors.New("record is not one JSON value")
	case !utf8.Valid(record):
		return errors.New("record is not UTF-8")
	}
	return nil
}

// fit returns the line for record as it has to stand at offset at of the file: after
// a newline when lead is set, and filled with spaces to the end of its page when
// less than smallBytes would be left there for the next line. It uses the memory
// of buf when that is enough.
func fit(buf, record []byte, at int64, lead bool) []byte {
	line := buf[:0]
	if lead {
		line = append(line, '\n')
	}
	line = append(line, record...)
	left := pageBytes - (at+int64(len(line))+1)%pageBytes
	if left < smallBytes {
		line = append(line, bytes.Repeat([]byte{' '}, int(left))...)
	}
	return append(line, '\n')
}

// bare returns line without the blanks around it.
func bare(line []byte) []byte { return bytes.Trim(line, " \t\r") }

// isWhole tells whether a piece without newline is a complete record all the same.
// Only brackets prove that: 12 may be the beginning of 123.
func isWhole(text []byte) bool {
	text = bare(text)
	return len(text) > 0 && (text[0] == '{' || text[0] == '[') && json.Valid(text)
}
