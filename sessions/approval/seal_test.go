package approval

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func sealing(t *testing.T) Desk {
	t.Helper()
	d := desk(t)
	d.Key = filepath.Join(t.TempDir(), "keys", "gates.key")
	return d
}

// change writes a gate of the desk anew.
func (d Desk) change(t *testing.T, id string, f func(*Gate)) {
	t.Helper()
	g, err := Desk{Dir: d.Dir}.Get(id, noon())
	if err != nil {
		t.Fatal(err)
	}
	f(&g)
	if err := d.save(g); err != nil {
		t.Fatal(err)
	}
}

func TestASealedApprovalLetsThrough(t *testing.T) {
	t.Parallel()
	d := sealing(t)
	id := d.mustHold(t, push(), Who{}, noon()).Gate.ID
	if g, err := d.Approve(id, "ann", noon()); err != nil || len(g.Seal) != 64 {
		t.Fatalf("Approve = %+v, %v, want a seal", g, err)
	}
	if info, err := os.Stat(d.Key); err != nil || info.Mode().Perm() != 0o600 || info.Size() != keySize {
		t.Errorf("key %v, %v", info, err)
	}
	left, err := os.ReadDir(filepath.Dir(d.Key))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the key: %v, %v, want nothing", left, err)
	}
	if v := d.mustHold(t, push(), Who{}, after(time.Hour)); !v.Allow {
		t.Errorf("Hold = %+v, want it let through", v)
	}
}

func TestAnApprovalWithoutTheRightSealIsNone(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]func(*Gate){
		"approved in the file": func(g *Gate) { g.Status, g.DecidedAt = Approved, noon() },
		"with a seal of its own": func(g *Gate) {
			g.Status, g.DecidedAt, g.By = Approved, noon(), "ann"
			g.Seal = seal(*g, bytes.Repeat([]byte{1}, keySize))
		},
		"with the seal of another moment": func(g *Gate) { g.DecidedAt = g.DecidedAt.Add(23 * time.Hour) },
		"by another":                      func(g *Gate) { g.By = "bob" },
		"the seal of a denial":            func(g *Gate) { g.Status = Approved },
	} {
		d := sealing(t)
		id := d.mustHold(t, push(), Who{RunID: "r"}, noon()).Gate.ID
		decide := func() {
			if _, err := d.Approve(id, "ann", noon()); err != nil {
				t.Fatal(err)
			}
		}
		switch {
		case strings.Contains(name, "denial"):
			if _, err := d.Deny(id, "ann", "", noon()); err != nil {
				t.Fatal(err)
			}
		case name == "by another" || strings.Contains(name, "moment"):
			decide()
		}
		d.change(t, id, forge)
		v := d.mustHold(t, push(), Who{RunID: "r"}, after(time.Minute))
		if v.Allow || v.Gate.ID != id || v.Gate.Status != Pending || !strings.Contains(v.Gate.Because, "somebody has changed the file") {
			t.Errorf("%s: %+v, want it pending with a warning", name, v)
			continue
		}
		decide()
		if v := d.mustHold(t, push(), Who{RunID: "r"}, after(time.Minute)); !v.Allow {
			t.Errorf("%s: approved by the person: %+v, want it let through", name, v)
		}
	}
}

func TestWithoutItsKeyNoApprovalCounts(t *testing.T) {
	t.Parallel()
	for _, bad := range []func(string) error{os.Remove, func(p string) error { return os.WriteFile(p, []byte("short"), 0o600) }} {
		d := sealing(t)
		id := d.mustHold(t, push(), Who{}, noon()).Gate.ID
		if _, err := d.Approve(id, "ann", noon()); err != nil {
			t.Fatal(err)
		}
		if err := bad(d.Key); err != nil {
			t.Fatal(err)
		}
		if v := d.mustHold(t, push(), Who{}, noon()); v.Allow {
			t.Error("let through without the key")
		}
	}
}

func TestManyMakeOneKey(t *testing.T) {
	t.Parallel()
	d := sealing(t)
	keys := make([][]byte, 20)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			key, err := d.key(true)
			if err != nil {
				t.Error(err)
			}
			keys[i] = key
		})
	}
	wg.Wait()
	for _, k := range keys {
		if !bytes.Equal(k, keys[0]) {
			t.Fatal("two keys")
		}
	}
}
