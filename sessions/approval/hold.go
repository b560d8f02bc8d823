package approval

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"autopilot/sessions/approval/rule"
)

const (
	maxSubject  = 200 // runes
	maxName     = 100
	maxReason   = 500
	maxPart     = 160
	maxInput    = 16 << 10 // bytes
	maxDiff     = 64 << 10
	maxFindings = 32
	inAdvance   = "approved in advance"
)

// Hold decides about a call that rules have found. The same call as one that waits is
// counted there; an approved one is let through and marked as used before Hold returns;
// one that was denied, or that nobody answered in time, is refused with the reason. A call
// whose findings were all approved in advance is let through and written down as used.
// Otherwise a gate is made, with what look shows. A call that is too long to be shown to a
// person as a whole is refused without a gate: nobody can approve what nobody has seen.
//
// An error means that nothing could be written down: the call must not be made.
func (d Desk) Hold(call rule.Call, findings []rule.Finding, who Who, now time.Time, look Look) (Verdict, error) {
	if len(findings) == 0 {
		return Verdict{Allow: true}, nil
	}
	print := fingerprint(call, findings, look.Files)
	if d.inAdvance(findings) {
		return d.recordAdvance(newGate(call, findings, who, print), now)
	}
	if n := len(input(call.Input, print)); n > maxInput {
		return Verdict{Reason: fmt.Sprintf("Refused: this call would have to be approved (%s), and with %d bytes it is too long to be shown to a person: split it. "+
			"At most %d bytes can be shown; write long texts into files by calls of their own.", findings[0].Rule, n, maxInput)}, nil
	}
	var v Verdict
	known, err := false, error(nil)
	answer := func() error {
		v, known, err = d.answer(print, who, now)
		return err
	}
	if err := d.locked(answer); err != nil || known {
		return v, err
	}
	g := newGate(call, findings, who, print) // outside the lock: looking at the changes takes time
	if look.Diff != nil {
		g.Diff = text(look.Diff(), maxDiff, print)
	}
	err = d.locked(func() error {
		if err := answer(); err != nil || known {
			return err
		}
		if g.ID, err = d.newID(); err != nil {
			return err
		}
		g.Status, g.AskedAt, g.Asked = Pending, now, 1
		g.ExpiresAt = now.Add(d.timeout())
		v = Verdict{Gate: g, Reason: waits(g)}
		return d.save(g)
	})
	if err != nil {
		return Verdict{}, err
	}
	return v, nil
}

func (d Desk) timeout() time.Duration {
	if d.Timeout <= 0 {
		return usualTimeout
	}
	return d.Timeout
}

func (d Desk) inAdvance(findings []rule.Finding) bool {
	return !slices.ContainsFunc(findings, func(f rule.Finding) bool { return f.Never || !slices.Contains(d.Advance, f.Rule) })
}

func (d Desk) recordAdvance(g Gate, now time.Time) (Verdict, error) {
	err := d.locked(func() error {
		var err error
		if g.ID, err = d.newID(); err != nil {
			return err
		}
		g.Status, g.By, g.Asked = Used, inAdvance, 1
		g.AskedAt, g.ExpiresAt, g.DecidedAt, g.UsedAt = now, now, now, now
		return d.save(g)
	})
	if err != nil {
		return Verdict{}, err
	}
	return Verdict{Allow: true, Gate: g}, nil
}

// answer finds the gate of a call and decides by it. The lock is held.
func (d Desk) answer(print string, who Who, now time.Time) (v Verdict, known bool, err error) {
	names, err := d.files()
	if err != nil {
		return v, false, err
	}
	var gates []Gate
	for _, n := range names {
		if !strings.HasSuffix(n, "."+print[:fileMark]+".json") {
			continue
		}
		g, err := d.load(n, now)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // it lets nothing through; List names it
		}
		if g.Fingerprint == print {
			gates = append(gates, g)
		}
	}
	g, ok := choose(gates, who)
	if !ok {
		return v, false, nil
	}
	g.Asked++
	g.LastSession = line(who.SessionID, maxName)
	v.Gate = g
	switch g.Status {
	case Approved:
		g.Status, g.UsedAt = Used, now
		v = Verdict{Allow: true, Gate: g}
	case Denied:
		v.Reason = refused(g)
	case Expired:
		v.Reason = late(g)
	default:
		v.Reason = waits(g)
	}
	if err := d.save(g); err != nil {
		return Verdict{}, false, err
	}
	return v, true, nil
}

// choose picks the gate that decides about a call: an approved one, else one that waits,
// else the last of the same run that was refused.
func choose(gates []Gate, who Who) (Gate, bool) {
	slices.SortFunc(gates, func(a, b Gate) int { return b.AskedAt.Compare(a.AskedAt) })
	for _, want := range []Status{Approved, Pending} {
		if i := slices.IndexFunc(gates, func(g Gate) bool { return g.Status == want }); i >= 0 {
			return gates[i], true
		}
	}
	i := slices.IndexFunc(gates, func(g Gate) bool {
		return (g.Status == Denied || g.Status == Expired) && g.RunID == who.RunID
	})
	// After a call that was let through, an older refusal does not count any more.
	used := slices.IndexFunc(gates, func(g Gate) bool { return g.Status == Used })
	if i < 0 || used >= 0 && used < i && gates[used].By != inAdvance {
		return Gate{}, false
	}
	return gates[i], true
}

func newGate(call rule.Call, findings []rule.Finding, who Who, print string) Gate {
	g := Gate{
		Fingerprint: print, RunID: line(who.RunID, maxName), SessionID: line(who.SessionID, maxName), LastSession: line(who.SessionID, maxName), Tool: line(call.Tool, maxName),
		Subject: marked(subject(call), maxSubject, print), Input: cutText(input(call.Input, print), maxInput), Dir: line(call.Dir, 1000),
	}
	for _, f := range findings[:min(len(findings), maxFindings)] {
		g.Rules = append(g.Rules, rule.Finding{Rule: line(f.Rule, maxName), Why: line(f.Why, maxSubject), Part: marked(f.Part, maxPart, print), Never: f.Never})
	}
	return g
}

// input is the arguments of a call as a text for a person, as a whole.
func input(raw json.RawMessage, print string) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return redact(plain(string(raw)), print)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(redactAll(v, print)) != nil {
		return ""
	}
	return plain(strings.TrimSuffix(out.String(), "\n"))
}

// subject says in one line what a call would do.
func subject(call rule.Call) string {
	var in map[string]any
	if json.Unmarshal(call.Input, &in) != nil {
		return call.Tool
	}
	for _, key := range []string{"command", "file_path", "notebook_path", "path", "url"} {
		if s, ok := in[key].(string); ok && s != "" {
			if call.Tool == "Bash" {
				return s
			}
			return call.Tool + " " + s
		}
	}
	return call.Tool
}

// fingerprint is the same for calls that do the same with the same files.
func fingerprint(call rule.Call, findings []rule.Finding, files []File) string {
	var parts []string
	for _, f := range findings {
		parts = append(parts, f.Rule+"\x00"+f.Part)
	}
	slices.Sort(parts)
	h := sha256.New()
	used := make([]string, 0, len(files))
	for _, f := range files {
		used = append(used, f.Path+"\x00"+f.Sum)
	}
	slices.Sort(used)
	for _, s := range []string{call.Tool, call.Dir, canonical(call), strings.Join(parts, "\x01"), strings.Join(slices.Compact(used), "\x01")} {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// canonical is the arguments of a call with sorted keys and without what does not change
// what it does.
func canonical(call rule.Call) string {
	dec := json.NewDecoder(bytes.NewReader(call.Input))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return string(call.Input)
	}
	if m, ok := v.(map[string]any); ok && call.Tool == "Bash" {
		delete(m, "description")
		delete(m, "timeout")
	}
	data, err := json.Marshal(v)
	if err != nil {
		return string(call.Input)
	}
	return string(data)
}

// whys lists what a gate is for.
func whys(g Gate) string {
	var list []string
	for _, f := range g.Rules[:min(len(g.Rules), 4)] {
		list = append(list, fmt.Sprintf("%s (%s): %s", f.Rule, f.Why, f.Part))
	}
	return strings.Join(list, "; ")
}

const goOn = " Do not try to reach the same by another way. Go on with other work that does not need it; if there is none, end your work with a question in needs_person that names gate "

func waits(g Gate) string {
	s := fmt.Sprintf("Held for a person under gate %s, until %s. Why: %s.%s%s. Once the person has approved it, the very same call goes through, once.",
		g.ID, g.ExpiresAt.UTC().Format("2006-01-02 15:04 MST"), whys(g), goOn, g.ID)
	if !slices.ContainsFunc(g.Rules, func(f rule.Finding) bool { return f.Rule != "unreadable" }) {
		s += " It is held only because it cannot be read beforehand: the same work as plain commands, each word written out, may need no person."
	}
	return s
}

func refused(g Gate) string {
	s := fmt.Sprintf("A person has refused this under gate %s", g.ID)
	if g.By != "" {
		s += " (" + g.By + ")"
	}
	if g.Because != "" {
		s += ": " + g.Because
	}
	return strings.TrimSuffix(s, ".") + "." + goOn + g.ID + "."
}

func late(g Gate) string {
	what := "Nobody answered gate %s in time"
	if !g.DecidedAt.IsZero() {
		what = "The approval of gate %s was not used in time"
	}
	return fmt.Sprintf(what+", so this stays refused. Why it was held: %s.%s%s.", g.ID, whys(g), goOn, g.ID)
}
