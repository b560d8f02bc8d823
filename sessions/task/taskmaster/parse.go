package taskmaster

import "fmt"

// Places are where a repository may have its file of tasks, relative to its top. The
// first one that is there counts.
func Places() []string { return []string{tasksFile, legacyFile} }

// MaxBytes is the size up to which a file of tasks is read.
const MaxBytes = largest

// Parse reads the tasks under a tag from the bytes of a file that lies elsewhere, such
// as in a commit; the name is for messages, and an empty tag is master. Errors are those
// of [Load]. The bytes must not be changed afterwards.
func Parse(name string, data []byte, tag string) (*File, error) {
	if len(data) > largest {
		return nil, fmt.Errorf("load tasks: %s is larger than %d MiB", name, largest>>20)
	}
	asked := tag != ""
	if !asked {
		tag = masterTag
	}
	return parse(name, data, tag, asked)
}
