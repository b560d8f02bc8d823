package probe

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"autopilot/probe/internal/proctest"
)

const (
	mountV2     = "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	mountV1     = "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n36 31 0:33 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
	mountHybrid = mountV1 + "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
	noLimitV1   = "9223372036854771712\n"
)

// The machine of these tests has 10 GB available of 16 and uses 1.5 GB of swap.
func TestMemoryIsBoundedByControlGroups(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		cgroup      string
		mountinfo   string
		files       map[string]string // below /sys/fs/cgroup
		available   uint64            // bytes
		total, swap uint64            // bytes, machine's when 0
		by          string
		absent      string
	}{
		{name: "no control groups", available: 10 << 30, by: BoundedByHost},
		{
			name: "v2 without limits", cgroup: "0::/user.slice/a.scope\n", mountinfo: mountV2,
			files: map[string]string{
				"user.slice/a.scope/memory.max":          "max\n",
				"user.slice/a.scope/memory.high":         "max\n",
				"user.slice/a.scope/memory.current":      "1000\n",
				"user.slice/a.scope/memory.swap.max":     "max\n",
				"user.slice/a.scope/memory.swap.current": "7\n",
			},
			available: 10 << 30, by: BoundedByHost,
		},
		{
			name: "v2 limit, droppable cache counted as available", cgroup: "0::/box\n", mountinfo: mountV2,
			files: map[string]string{
				"box/memory.max":          "5000\n",
				"box/memory.current":      "3000\n",
				"box/memory.stat":         "anon 1500\nactive_file 600\ninactive_file 900\n",
				"box/memory.swap.max":     "max\n",
				"box/memory.swap.current": "44\n",
			},
			available: 2900, total: 5000, swap: 44, by: BoundedByCgroup,
		},
		{
			name: "v2 throttling limit below the hard one", cgroup: "0::/box\n", mountinfo: mountV2,
			files: map[string]string{
				"box/memory.max": "5000\n", "box/memory.high": "4000\n", "box/memory.current": "3000\n", "box/memory.stat": "",
			},
			available: 1000, total: 4000, by: BoundedByCgroup,
		},
		{
			name: "v2 parent is tighter; the larger account of swap counts", cgroup: "0::/a/b/c\n", mountinfo: mountV2,
			files: map[string]string{
				"a/b/c/memory.max": "9000\n", "a/b/c/memory.current": "1000\n", "a/b/c/memory.stat": "inactive_file 0\n", "a/b/c/memory.swap.current": "60\n",
				"a/b/memory.max": "max\n", "a/b/memory.current": "1\n",
				"a/memory.max": "9500\n", "a/memory.current": "9000\n", "a/memory.stat": "inactive_file 100\n", "a/memory.swap.current": "5\n",
			},
			available: 600, total: 9000, swap: 60, by: BoundedByCgroup,
		},
		{
			name: "v2 limit above what the machine has left", cgroup: "0::/box\n", mountinfo: mountV2,
			files: map[string]string{
				"box/memory.max": "15032385536\n", "box/memory.current": "1\n", "box/memory.stat": "", "box/memory.swap.current": "1\n",
			},
			available: 10 << 30, total: 14 << 30, swap: 1, by: BoundedByHost,
		},
		{
			name: "v2 over the limit", cgroup: "0::/box\n", mountinfo: mountV2,
			files: map[string]string{
				"box/memory.max": "max\n", "box/memory.high": "4000\n", "box/memory.current": "4500\n", "box/memory.stat": "inactive_file 100\n",
			},
			available: 0, total: 4000, by: BoundedByCgroup,
		},
		{
			name: "v2 in its own namespace: the mount is the group", cgroup: "0::/\n", mountinfo: mountV2,
			files:     map[string]string{"memory.max": "5000\n", "memory.current": "3000\n", "memory.stat": "inactive_file 0\n"},
			available: 2000, total: 5000, by: BoundedByCgroup,
		},
		{
			name: "v2 limits swap only", cgroup: "0::/box\n", mountinfo: mountV2,
			files: map[string]string{
				"box/memory.max": "max\n", "box/memory.current": "3000\n", "box/memory.swap.max": "0\n", "box/memory.swap.current": "9\n",
			},
			available: 10 << 30, swap: 9, by: BoundedByHost,
		},
		{
			name: "v1", cgroup: "9:name=systemd:/\n4:cpu,memory:/box\n0::/\n", mountinfo: mountV1,
			files: map[string]string{
				"memory/box/memory.limit_in_bytes":       "5000\n",
				"memory/box/memory.usage_in_bytes":       "3000\n",
				"memory/box/memory.stat":                 "inactive_file 1\nswap 2\ntotal_inactive_file 900\ntotal_swap 33\n",
				"memory/box/memory.memsw.limit_in_bytes": noLimitV1,
				"memory/memory.limit_in_bytes":           noLimitV1,
				"memory/memory.usage_in_bytes":           "8000\n",
			},
			available: 2900, total: 5000, swap: 33, by: BoundedByCgroup,
		},
		{
			name: "v1 without limits", cgroup: "4:memory:/box\n", mountinfo: mountV1,
			files: map[string]string{
				"memory/box/memory.limit_in_bytes": noLimitV1,
				"memory/memory.limit_in_bytes":     "9223372036854710272\n", // pages of 64 KiB
			},
			available: 10 << 30, by: BoundedByHost,
		},
		{
			name: "v1 mounted from inside a container", cgroup: "4:memory:/docker/abc\n",
			mountinfo: "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			files: map[string]string{
				"memory/memory.limit_in_bytes": "5000\n", "memory/memory.usage_in_bytes": "3000\n", "memory/memory.stat": "total_inactive_file 0\n",
			},
			available: 2000, total: 5000, by: BoundedByCgroup,
		},
		{
			name: "both, with the memory in v1", cgroup: "4:memory:/box\n0::/box\n", mountinfo: mountHybrid,
			files: map[string]string{
				"memory/box/memory.limit_in_bytes": "5000\n", "memory/box/memory.usage_in_bytes": "3000\n", "memory/box/memory.stat": "",
				"unified/box/cgroup.procs": "1\n",
			},
			available: 2000, total: 5000, by: BoundedByCgroup,
		},
		{
			name: "a mount point with a blank", cgroup: "0::/box\n",
			mountinfo: `31 23 0:28 / /sys/fs/cgroup/my\040groups rw - cgroup2 cgroup2 rw` + "\n",
			files: map[string]string{
				"my groups/box/memory.max": "5000\n", "my groups/box/memory.current": "3000\n", "my groups/box/memory.stat": "",
			},
			available: 2000, total: 5000, by: BoundedByCgroup,
		},
		{
			name: "a limit that cannot be understood", cgroup: "0::/a/b\n", mountinfo: mountV2,
			files: map[string]string{
				"a/b/memory.max": "lots\n",
				"a/memory.max":   "5000\n", "a/memory.current": "3000\n", "a/memory.stat": "",
			},
			available: 2000, total: 5000, by: BoundedByCgroup, absent: `"lots" is no limit`,
		},
		{
			name: "a usage that cannot be read: the limit still bounds", cgroup: "0::/box\n", mountinfo: mountV2,
			files:     map[string]string{"box/memory.max": "5000\n", "box/memory.stat": ""},
			available: 5000, total: 5000, by: BoundedByCgroup, absent: "memory.current: no such file",
		},
		{
			name: "a group outside of our namespace", cgroup: "0::/../box\n", mountinfo: mountV2,
			files:     map[string]string{"memory.max": "5000\n", "memory.current": "3000\n"},
			available: 10 << 30, by: BoundedByHost, absent: "control group /../box lies outside of what is mounted here",
		},
		{
			name: "a group that is not mounted", cgroup: "0::/box\n", mountinfo: mountV1,
			available: 10 << 30, by: BoundedByHost, absent: "control group /box lies outside of what is mounted here",
		},
		{
			name: "the root group needs no mount", cgroup: "0::/\n", mountinfo: mountV1,
			available: 10 << 30, by: BoundedByHost,
		},
		{
			name: "a group that is gone, its parent is not", cgroup: "0::/a/b\n", mountinfo: mountV2,
			files:     map[string]string{"a/memory.max": "5000\n", "a/memory.current": "3000\n", "a/memory.stat": ""},
			available: 2000, total: 5000, by: BoundedByCgroup, absent: "find control group",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root, top := machine(t), t.TempDir()
			if tt.cgroup != "" {
				proctest.File(t, root, "self/cgroup", tt.cgroup)
				proctest.File(t, root, "self/mountinfo", "22 27 0:21 / /proc rw - proc proc rw\n"+tt.mountinfo)
			}
			for name, content := range tt.files {
				proctest.File(t, top, "sys/fs/cgroup/"+name, content)
			}
			got := Take(t.Context(), Options{ProcRoot: root, CgroupRoot: top, Self: -1})

			want := got
			want.RAMAvailableGB, want.RAMBoundedBy = gb(tt.available), tt.by
			want.RAMTotalGB, want.SwapUsedGB = gb(16<<30), gb(3<<29)
			if tt.total != 0 {
				want.RAMTotalGB = gb(tt.total)
			}
			if tt.swap != 0 {
				want.SwapUsedGB = gb(tt.swap)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("snapshot (-want +got):\n%s", diff)
			}
			if reason := reasons(got, fieldCgroup); (reason == "") != (tt.absent == "") || !strings.Contains(reason, tt.absent) {
				t.Errorf("absent: got %q, want %q", reason, tt.absent)
			}
		})
	}
}

func TestUnescape(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`/plain`: "/plain", `/a\040b`: "/a b", `\134`: `\`, `a\011\012`: "a\t\n", `\`: `\`, `\04`: `\04`, `\999x`: `\999x`,
	} {
		if got := unescape(in); got != want {
			t.Errorf("unescape %q: got %q, want %q", in, got, want)
		}
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	tests := []struct {
		path, root, want string
		ok               bool
	}{
		{"/", "/", "/", true},
		{"/a/b", "/", "/a/b", true},
		{"/a/b", "/a", "/b", true},
		{"/a", "/a", "/", true},
		{"/ab", "/a", "", false},
		{"/b", "/a", "", false},
		{"/../a", "/", "", false},
		{"/a..b", "/", "/a..b", true},
	}
	for _, tt := range tests {
		if got, ok := within(tt.path, tt.root); got != tt.want || ok != tt.ok {
			t.Errorf("%s within %s: got %q, %v, want %q, %v", tt.path, tt.root, got, ok, tt.want, tt.ok)
		}
	}
}

// Of two mounts of one hierarchy the one that shows more levels is read.
func TestLocateTakesTheWiderMount(t *testing.T) {
	t.Parallel()
	mounts := parseMounts([]byte("1 1 0:1 /a /narrow rw - cgroup2 none rw\n2 1 0:1 / /wide rw - cgroup2 none rw\nnonsense\n"))
	top, below, ok, err := group{path: "/a/b", v2: true}.locate(mounts)
	if top != "/wide" || below != "/a/b" || !ok || err != nil {
		t.Errorf("got %s, %s, %v, %v, want /wide, /a/b", top, below, ok, err)
	}
	slices.Reverse(mounts)
	if again, _, _, _ := (group{path: "/a/b", v2: true}).locate(mounts); again != top {
		t.Errorf("in the other order: got %s, want %s", again, top)
	}
}
