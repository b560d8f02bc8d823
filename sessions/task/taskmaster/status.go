package taskmaster

import "bytes"

// Status is the status of a task, 1, or of a subtask, 1.2. It is empty where there is
// none, and where there is no such task.
func (f *File) Status(id string) string {
	object, err := f.object(id)
	if err != nil {
		return ""
	}
	list, err := f.fields(object)
	if err != nil {
		return ""
	}
	return f.read(id, list).Status
}

// Data are the bytes of the file.
func (f *File) Data() []byte { return bytes.Clone(f.data) }
