package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxLine is the length of the longest line that is taken, in bytes.
const maxLine = 4 << 20

// sieve passes on the lines that are JSON-RPC messages. The library ends the
// connection at the first one that is not.
type sieve struct {
	io.Closer
	in   *bufio.Reader
	out  io.Writer // for answers to what is no message but has an id
	log  *slog.Logger
	line []byte // what is left of a line that is being passed on
}

func newSieve(in io.ReadCloser, out io.Writer, log *slog.Logger) *sieve {
	return &sieve{Closer: in, in: bufio.NewReaderSize(in, 64<<10), out: out, log: log}
}

// Read implements io.Reader. It gives no more than one line at a time.
func (s *sieve) Read(p []byte) (int, error) {
	for len(s.line) == 0 {
		line, err := readLine(s.in)
		if line = bytes.TrimSpace(line); len(line) == 0 {
			if err != nil {
				return 0, err
			}
			continue
		}
		if why := s.wrong(line); why != nil {
			s.log.Warn("line is no message", "bytes", len(line), "err", why)
			s.refuse(line, why)
			continue
		}
		s.line = append(line, '\n')
	}
	n := copy(p, s.line)
	s.line = s.line[n:]
	return n, nil
}

func (s *sieve) wrong(line []byte) error {
	if !json.Valid(line) {
		return fmt.Errorf("it is not JSON")
	}
	if line[0] == '[' {
		return fmt.Errorf("batches are not taken")
	}
	_, err := jsonrpc.DecodeMessage(line)
	return err
}

// refuse answers what is waiting for an answer. A broken output is noticed by the
// library with its next answer, so an error of writing is of no use here.
func (s *sieve) refuse(line []byte, why error) {
	type call struct {
		ID     any             `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	var calls []call
	var one call
	if json.Unmarshal(line, &one) == nil {
		calls = []call{one}
	} else if json.Unmarshal(line, &calls) != nil {
		return
	}
	for _, c := range calls {
		id, err := jsonrpc.MakeID(c.ID)
		if err != nil || !id.IsValid() || c.Method == nil {
			continue
		}
		data, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
			Code: jsonrpc.CodeInvalidRequest, Message: "no JSON-RPC message: " + why.Error(),
		}})
		if err == nil {
			_, _ = s.out.Write(append(data, '\n'))
		}
	}
}

// readLine reads up to the end of a line, or of the input.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if err != bufio.ErrBufferFull {
			return line, err
		}
		if len(line) > maxLine {
			return nil, fmt.Errorf("read mcp message: the line has more than %d bytes", maxLine)
		}
	}
}
