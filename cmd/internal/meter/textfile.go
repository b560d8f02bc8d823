package meter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"autopilot/cmd/internal/config"
	"autopilot/cmd/internal/outside"
)

// textMode lets another user read the file, as which node_exporter runs.
const textMode = 0o644

// leftover is the age from which a temporary file is one of a writer that was killed.
const leftover = time.Minute

// Check refuses a place to write to that cannot be one.
func Check(cfg config.Telemetry) error {
	if cfg.Textfile == "" {
		return nil
	}
	dir := filepath.Dir(cfg.Textfile)
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return outside.UsageHint("make it; node_exporter is told of it with --collector.textfile.directory", "metrics-textfile: there is no folder %s", dir)
	}
	if info, err = os.Lstat(cfg.Textfile); err == nil && !info.Mode().IsRegular() {
		return outside.UsageHint("name another with --metrics-textfile", "metrics-textfile: %s is no regular file", cfg.Textfile)
	}
	return nil
}

// errBusy is returned when another process writes the file at this moment.
var errBusy = errors.New("another process writes it")

// writeText replaces the file as a whole. It is not synced: after a power cut it is written
// anew. Of two processes at once one is refused, which does no harm: both say the same.
func writeText(path string, data []byte, now time.Time) (err error) {
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".autopilot")
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, textMode)
	if errors.Is(err, fs.ErrExist) {
		info, serr := os.Lstat(tmp)
		if serr != nil || now.Sub(info.ModTime()) < leftover {
			return errBusy
		}
		if err := os.Remove(tmp); err != nil {
			return fmt.Errorf("write metrics: %w", err)
		}
		f, err = os.OpenFile(tmp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, textMode)
	}
	if err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp)
		}
	}()
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(textMode), f.Close()) // whatever the umask says
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return fmt.Errorf("write metrics: %w", err)
	}
	return nil
}
