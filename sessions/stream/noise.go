package stream

// A noise tells, byte by byte, what a terminal would not show: white space,
// control characters and escape sequences in the sense of ECMA-48. The zero
// value is ready to use.
type noise struct {
	state noiseState
}

type noiseState uint8

const (
	ground     noiseState = iota
	escaped               // after ESC
	control               // in a control sequence, ESC [ …
	payload               // in a string that BEL or ESC \ ends, ESC ] …
	payloadEsc            // in such a string, after ESC
	selector              // after ESC ( and the like, one byte to come
)

// is reports whether the terminal would show nothing for c.
func (n *noise) is(c byte) bool {
	const esc, bel, del = 0x1b, 0x07, 0x7f
	switch n.state {
	case escaped:
		n.state = afterEscape(c)
		return true
	case control:
		if c >= 0x40 && c <= 0x7e {
			n.state = ground
		}
		return true
	case payload:
		switch c {
		case bel:
			n.state = ground
		case esc:
			n.state = payloadEsc
		}
		return true
	case payloadEsc:
		n.state = payload
		if c == '\\' {
			n.state = ground
		}
		return true
	case selector:
		n.state = ground
		return true
	}
	if c == esc {
		n.state = escaped
	}
	return c <= ' ' || c == del
}

func afterEscape(c byte) noiseState {
	switch {
	case c == '[':
		return control
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
		return payload
	case c >= 0x20 && c <= 0x2f:
		return selector
	}
	return ground
}
