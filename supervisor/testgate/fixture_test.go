package testgate_test

import (
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"autopilot/metrics/testprogram"
	"autopilot/probe/proctree"
	"autopilot/sessions/reap"
	"autopilot/supervisor/gate"
	"autopilot/supervisor/testgate"
)

const (
	fileVar  = "TESTGATE_TEST_FILE" // carried by everything a test starts
	patience = time.Minute
)

// TestMain lets more tests than processors run, because most of them wait for a process.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(max(6, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// repository makes a folder with files; those whose text begins with #! are programs.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		put(t, filepath.Join(dir, name), text)
	}
	return dir
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(text, "#!") {
		testprogram.Write(t, name, []byte(text))
		return
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// newGate makes a gate whose commands find the programs of the folder bin in the
// repository first. After the test nothing must be left in the scratch folder, and no
// process.
func newGate(t *testing.T, repo string) testgate.Gate {
	t.Helper()
	scratch, home := filepath.Join(t.TempDir(), "scr atch"), t.TempDir()
	if err := os.Mkdir(scratch, 0o755); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(scratch, "mark")
	t.Cleanup(func() {
		if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
			t.Errorf("left in the scratch folder: %v (%v)", left, err)
		}
		for _, pid := range reap.Marked(reap.Marker{Name: fileVar, Value: mark}) {
			t.Errorf("process %d is left", pid)
		}
	})
	return testgate.Gate{
		Repo: repo, Scratch: scratch,
		Settings: testgate.Settings{Timeout: 5 * time.Minute},
		Runner:   gate.Runner{RunID: "run", Token: mark, Grace: 10 * time.Second},
		Environ: append(os.Environ(), "PATH="+filepath.Join(repo, "bin")+":"+os.Getenv("PATH"), fileVar+"="+mark, "REPO="+repo, "CI=",
			"HOME="+home, "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local", "GOCACHE="+goCache(t)),
	}
}

// goCache is the one of this machine, so that the standard library is not built anew.
func goCache(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("GOCACHE"); dir != "" {
		return dir
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "go-build")
}

func module(files map[string]string) map[string]string {
	files["go.mod"] = "module example.com/m\n\ngo 1.24\n"
	return files
}

func testFile(pkg, body string) string {
	return "package " + pkg + "\n\nimport \"testing\"\n\n" + body + "\n"
}

// written returns the ids that processes have written into a file.
func written(t *testing.T, file string) []int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, word := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// gone reports whether a process has ended; whoever has to collect it may not have done
// so.
func gone(pid int) bool {
	p, err := proctree.Read(proctree.Root, pid)
	return err != nil || p.Dead()
}

func content(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
