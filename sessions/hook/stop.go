package hook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"autopilot/sessions/completion"
)

const (
	capVar   = "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP"
	usualCap = 8
	stopTime = 5 * time.Second
)

type stopInput struct {
	Event      string `json:"hook_event_name"`
	SessionID  string `json:"session_id"`
	Transcript string `json:"transcript_path"`
	CWD        string `json:"cwd"`
	Active     bool   `json:"stop_hook_active"`
}

type stopOutput struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
}

// Stop answers the call that Claude Code makes when an agent ends its turn. Under
// persistent completion with tasks remaining it writes the refusal, whose reason
// sends the agent on; otherwise it writes nothing, which lets it stop. What the agent
// left running in the background is no excuse: a server never ends. desk finds
// the desk for a session and its working directory; ok is false where there is
// none. A desk of another session answers for that one only.
//
// It fails open: where it cannot decide, the agent stops. An error is for stderr,
// with exit status 0, because 2 would refuse the end of the turn; so is a panic
// turned into an error. An error beside a refusal means that something about it
// could not be written down; the refusal stands.
func Stop(stdin io.Reader, stdout io.Writer, desk func(sessionID, cwd string) (d completion.Desk, ok bool, err error), now time.Time, getenv func(string) string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("internal error: stop hook: %v", r)
		}
	}()
	in, err := readStop(stdin)
	if err != nil || in.Event != "Stop" {
		return err
	}
	if err := completion.CheckSession(in.SessionID); err != nil {
		return fmt.Errorf("read hook input: %w", err)
	}
	d, ok, err := desk(in.SessionID, in.CWD)
	if err != nil || !ok || d.Session != "" && d.Session != in.SessionID {
		return err
	}
	d.Session = in.SessionID
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	dec, err := d.Stop(ctx, completion.Turn{
		Now: now, GoesOn: in.Active, BlockCap: blockCap(getenv(capVar)),
		Work: func(from int64, since time.Time) completion.Work { return readTranscript(in.Transcript, from, since) },
	})
	if dec.AllowStop {
		return err
	}
	// One write: half an answer would be no answer.
	var answer bytes.Buffer
	enc := json.NewEncoder(&answer)
	enc.SetEscapeHTML(false)
	if bad := enc.Encode(stopOutput{Decision: "block", Reason: dec.ContinueWith}); bad != nil {
		return errors.Join(err, fmt.Errorf("encode answer: %w", bad))
	}
	if _, bad := stdout.Write(answer.Bytes()); bad != nil {
		return errors.Join(err, fmt.Errorf("write answer: %w", bad))
	}
	return err
}

// readStop reads what the session passes. A field of an unexpected type counts as
// absent.
func readStop(stdin io.Reader) (stopInput, error) {
	var in stopInput
	if err := json.NewDecoder(io.LimitReader(stdin, inputLimit)).Decode(&in); err != nil {
		if _, odd := errors.AsType[*json.UnmarshalTypeError](err); !odd {
			return in, fmt.Errorf("read hook input: %w", err)
		}
	}
	if in.Event == "" {
		return in, errors.New("read hook input: hook_event_name is missing")
	}
	return in, nil
}

// blockCap is how often in a row Claude Code lets a turn be refused its end; 0 is
// any number.
func blockCap(value string) int {
	n, err := strconv.Atoi(value)
	if err != nil {
		return usualCap
	}
	return max(n, 0)
}
