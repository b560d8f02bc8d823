package probe

import (
	"time"

	"autopilot/probe/peer"
	"autopilot/probe/tier"
)

// The two things that can bound the available memory.
const (
	BoundedByHost   = "host"
	BoundedByCgroup = "cgroup"
)

// Snapshot is one picture of the machine. A nil field is null in JSON and was
// not measured. Sizes in GB are multiples of 2^30 bytes.
type Snapshot struct {
	// Signals are the four facts that a tier is judged by; in JSON they stand at
	// the top level.
	tier.Signals

	// TakenAt is when the probe began, in UTC.
	TakenAt time.Time `json:"taken_at"`
	// RAMTotalGB is the memory of the machine, or the smallest limit of our
	// control groups where that is less.
	RAMTotalGB *float64 `json:"ram_total_gb"`
	// RAMBoundedBy tells what RAMAvailableGB comes from: BoundedByHost or
	// BoundedByCgroup, empty when that is absent.
	RAMBoundedBy string `json:"ram_bounded_by"`
	// PSIMemorySomeAvg10 is the share of the last ten seconds in which some
	// process waited for memory, in percent; Linux only.
	PSIMemorySomeAvg10 *float64 `json:"psi_memory_some_avg10"`
	// Load1m is the load average over one minute.
	Load1m *float64 `json:"load_1m"`
	// CPUs is the number of processors that this process may use.
	CPUs int `json:"cpus"`
	// PeerSessions are the sessions that Peers counts; nil when that is absent.
	PeerSessions []peer.Session `json:"peer_sessions"`
	// DurationMS is how long the probe took, in milliseconds.
	DurationMS float64 `json:"probe_duration_ms"`
	// Absent lists what could not be measured; never nil in what Take returns.
	Absent []Absence `json:"absent"`
}

// Absence is one thing that could not be measured.
type Absence struct {
	// Signal is the name of the JSON field that is null, or "cgroup" when the
	// machine's figures stand although a limit of a control group may be lower.
	Signal string `json:"signal"`
	Reason string `json:"reason"`
}

// The JSON fields that a source can leave empty.
const (
	fieldRAM      = "ram_available_gb"
	fieldTotal    = "ram_total_gb"
	fieldSwap     = "swap_used_gb"
	fieldPeers    = "peers"
	fieldPressure = "memory_pressure_pct_free"
	fieldPSI      = "psi_memory_some_avg10"
	fieldLoad     = "load_1m"
	fieldCgroup   = "cgroup" // no field, see Absence
)

func (s *Snapshot) absent(err error, signals ...string) {
	for _, signal := range signals {
		s.Absent = append(s.Absent, Absence{Signal: signal, Reason: err.Error()})
	}
}

func gb(bytes uint64) *float64 {
	v := float64(bytes) / tier.GB
	return &v
}
