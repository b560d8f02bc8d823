package approval

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"autopilot/metrics/statedir"
)

const (
	keySize    = 32 // bytes
	unsealed   = "The record of this gate said approved, but not by the hand of this program: somebody has changed the file. It waits for a person again."
	keyPattern = ".key-*"
)

// key reads the key of the desk, and makes it where there is none and make is set.
func (d Desk) key(make bool) ([]byte, error) {
	data, err := os.ReadFile(d.Key)
	if errors.Is(err, fs.ErrNotExist) && make {
		if err := newKey(d.Key); err != nil {
			return nil, fmt.Errorf("make key %s: %w", d.Key, err)
		}
		data, err = os.ReadFile(d.Key)
	}
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	if len(data) != keySize {
		return nil, fmt.Errorf("read key %s: %d bytes, want %d", d.Key, len(data), keySize)
	}
	return data, nil
}

// newKey writes a key where there is none. Of several processes that do so at once, one
// wins, and all read its key.
func newKey(name string) error {
	if err := statedir.MakeDir(filepath.Dir(name)); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), keyPattern) // 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	raw := make([]byte, keySize)
	rand.Read(raw)
	_, err = f.Write(raw)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// sealed is the gate with the seal of its decision.
func (d Desk) sealed(g Gate) (Gate, error) {
	if d.Key == "" {
		return g, nil
	}
	key, err := d.key(true)
	if err != nil {
		return g, err
	}
	g.Seal = seal(g, key)
	return g, nil
}

// checked is the gate as far as it can be believed: an approval without the right seal is
// none.
func (d Desk) checked(g Gate) Gate {
	if d.Key == "" || g.Status != Approved {
		return g
	}
	if key, err := d.key(false); err == nil && hmac.Equal([]byte(seal(g, key)), []byte(g.Seal)) {
		return g
	}
	g.Status, g.By, g.DecidedAt, g.Seal = Pending, "", time.Time{}, ""
	g.Because = unsealed
	return g
}

func seal(g Gate, key []byte) string {
	mac := hmac.New(sha256.New, key)
	for _, s := range []string{g.ID, g.Fingerprint, string(g.Status), g.DecidedAt.UTC().Format(time.RFC3339Nano), g.By} {
		fmt.Fprintf(mac, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(mac.Sum(nil))
}
