package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// limits is what our control groups leave us, in bytes.
type limits struct {
	hasFree  bool
	free     uint64 // the least over all groups that limit memory
	limit    uint64 // the smallest limit, meaningful when hasFree
	hasSwap  bool
	swapUsed uint64 // the most over all groups that limit memory or swap
}

// total is the smallest limit, or more than any machine has.
func (l limits) total() uint64 {
	if !l.hasFree {
		return math.MaxUint64
	}
	return l.limit
}

// layout names the files of one version of control groups.
type layout struct {
	limits    []string
	usage     string
	cache     string // key in memory.stat: page cache that can be dropped at once
	swapLimit string
	swapUsage string // file, or
	swapStat  string // key in memory.stat
}

// readCgroups reads the memory limits of the groups this process is in and of
// all groups above them that are visible. An error means that there may be a
// lower limit than the ones returned. A system without control groups has no
// limits and no error.
func readCgroups(o Options) (limits, error) {
	membership, err := os.ReadFile(filepath.Join(o.ProcRoot, "self/cgroup"))
	if errors.Is(err, fs.ErrNotExist) {
		return limits{}, nil
	}
	if err != nil {
		return limits{}, err
	}
	mountinfo, err := os.ReadFile(filepath.Join(o.ProcRoot, "self/mountinfo"))
	if err != nil {
		return limits{}, err
	}
	var l limits
	var errs []error
	mounts := parseMounts(mountinfo)
	for _, g := range parseMembership(membership) {
		top, path, ok, err := g.locate(mounts)
		if ok {
			err = l.addGroup(filepath.Join(o.CgroupRoot, top), path, g.layout())
		}
		errs = append(errs, err)
	}
	return l, errors.Join(errs...)
}

// addGroup walks from the group at path up to top, where its hierarchy is
// mounted.
func (l *limits) addGroup(top, path string, files layout) error {
	var errs []error
	if _, err := os.Stat(filepath.Join(top, path)); err != nil {
		errs = append(errs, fmt.Errorf("find control group: %w", err))
	}
	for {
		errs = append(errs, l.addLevel(filepath.Join(top, path), files))
		if path == "/" {
			return errors.Join(errs...)
		}
		path = filepath.Dir(path)
	}
}

// addLevel takes one group into account. A file that does not exist limits
// nothing: the topmost group has none of them.
func (l *limits) addLevel(dir string, files layout) error {
	limit := uint64(math.MaxUint64)
	for _, name := range files.limits {
		v, err := readLimit(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		limit = min(limit, v)
	}
	swapLimit, err := readLimit(filepath.Join(dir, files.swapLimit))
	if err != nil {
		return err
	}
	if limit == math.MaxUint64 && swapLimit == math.MaxUint64 {
		return nil
	}
	stat, err := os.ReadFile(filepath.Join(dir, "memory.stat"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	swapErr := l.addSwap(dir, files, stat)
	if limit == math.MaxUint64 {
		return swapErr
	}

	usage, err := readNumber(filepath.Join(dir, files.usage))
	if err == nil {
		cache, _ := statValue(stat, files.cache)
		usage -= min(cache, usage)
	}
	// Without the usage the limit itself still bounds what can be had.
	free := limit - min(usage, limit)
	if !l.hasFree {
		l.hasFree, l.free, l.limit = true, free, limit
	}
	l.free, l.limit = min(l.free, free), min(l.limit, limit)
	return errors.Join(err, swapErr)
}

// addSwap takes the group's own account of swap into account. Where the kernel
// keeps none for groups, the machine's figure stands.
func (l *limits) addSwap(dir string, files layout, stat []byte) error {
	used, ok := statValue(stat, files.swapStat)
	if files.swapUsage != "" {
		var err error
		used, err = readNumber(filepath.Join(dir, files.swapUsage))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		ok = true
	}
	if ok {
		l.hasSwap, l.swapUsed = true, max(l.swapUsed, used)
	}
	return nil
}

// unlimited is where version 1 begins to mean no limit: it writes the largest
// number of whole pages, which depends on the size of a page.
const unlimited = 1 << 62

// readLimit reads a limit in bytes; math.MaxUint64 means none.
func readLimit(name string) (uint64, error) {
	text, err := readText(name)
	if errors.Is(err, fs.ErrNotExist) || text == "max" {
		return math.MaxUint64, nil
	}
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read %s: %q is no limit", name, text)
	}
	if v >= unlimited {
		return math.MaxUint64, nil
	}
	return v, nil
}

func readNumber(name string) (uint64, error) {
	text, err := readText(name)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read %s: %q is no number of bytes", name, text)
	}
	return v, nil
}

func readText(name string) (string, error) {
	data, err := os.ReadFile(name)
	return strings.TrimSpace(string(data)), err
}

// statValue finds a line "key value" in memory.stat.
func statValue(stat []byte, key string) (uint64, bool) {
	for line := range bytes.Lines(stat) {
		k, v, ok := strings.Cut(strings.TrimSpace(string(line)), " ")
		if ok && k == key {
			n, err := strconv.ParseUint(v, 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
