package task

import "context"

// Place says where to look.
type Place struct {
	Repo   string // top of the repository, absolute
	Config string // Claude Code's own folder, usually ~/.claude
	// ListID is the task list that sessions of this project share, as Claude Code
	// takes it from CLAUDE_CODE_TASK_LIST_ID; empty when there is none.
	ListID string
	// Session limits Claude Code's lists to that of one session and ListID. Empty
	// means all lists of this project.
	Session string
	// Files are the Markdown files with check boxes, relative to Repo.
	Files []string
	// GH runs gh in the repository and returns what it prints; nil when the network
	// must not be asked.
	GH func(ctx context.Context, args ...string) ([]byte, error)
}

// Fault is a file that could not be taken for what it should be.
type Fault struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Look is what one source had.
type Look struct {
	Source string   `json:"source"`
	Places []string `json:"places"` // files and folders that were looked at
	Tasks  int      `json:"tasks"`  // before the same task in two places is counted once
	Empty  string   `json:"empty"`  // why there are none; empty when there are some
	Broken []Fault  `json:"broken"` // never nil
}

// Found are the tasks of a project.
type Found struct {
	Tasks []Task `json:"tasks"` // by priority of the source, then as it orders them; never nil
	Looks []Look `json:"sources"`
}
