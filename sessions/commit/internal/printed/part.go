package printed

// Tail keeps the end of what is written to it, of at least Size bytes.
type Tail struct {
	Size int
	Kept []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.Kept = append(t.Kept, p...)
	if len(t.Kept) > 2*t.Size {
		t.Kept = append(t.Kept[:0], t.Kept[len(t.Kept)-t.Size:]...)
	}
	return len(p), nil
}

// Head keeps the first Size bytes of what is written to it, and counts all.
type Head struct {
	Size, Seen int
	Kept       []byte
}

// Write never fails.
func (h *Head) Write(p []byte) (int, error) {
	h.Seen += len(p)
	h.Kept = append(h.Kept, p[:min(len(p), h.Size-len(h.Kept))]...)
	return len(p), nil
}
