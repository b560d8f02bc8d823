package outside

import "autopilot/cmd/internal/release/stamp"

// Version is the version that the program was built as, or the commit.
func Version() string { return stamp.Of().Version }
