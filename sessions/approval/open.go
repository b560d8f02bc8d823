package approval

// Open reports whether the gate waits for a person: nobody has decided it. One that nobody
// answered in time counts as denied for the session, and can still be approved.
func (g Gate) Open() bool {
	return g.Status == Pending || g.Status == Expired && g.By == ""
}
