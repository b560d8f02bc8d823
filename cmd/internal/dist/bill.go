package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// bill is a bill of materials of one binary.
type bill struct {
	Version string
	At      time.Time
	Target  target
	Modules []module
	Uses    []string // modules that the program's own packages import
}

// The format is that of CycloneDX 1.6 in JSON; the names are its.
type (
	cdxBill struct {
		BOMFormat    string           `json:"bomFormat"`
		SpecVersion  string           `json:"specVersion"`
		SerialNumber string           `json:"serialNumber"`
		Version      int              `json:"version"`
		Metadata     cdxMetadata      `json:"metadata"`
		Components   []cdxComponent   `json:"components"`
		Dependencies []cdxDependency  `json:"dependencies"`
		Compositions []cdxComposition `json:"compositions"`
	}
	cdxMetadata struct {
		Timestamp string       `json:"timestamp"`
		Component cdxComponent `json:"component"`
	}
	cdxComponent struct {
		Type       string        `json:"type"`
		Ref        string        `json:"bom-ref"`
		Name       string        `json:"name"`
		Version    string        `json:"version"`
		Scope      string        `json:"scope,omitempty"`
		Hashes     []cdxHash     `json:"hashes,omitempty"`
		Licenses   []cdxLicense  `json:"licenses,omitempty"`
		PURL       string        `json:"purl"`
		Properties []cdxProperty `json:"properties,omitempty"`
	}
	cdxHash struct {
		Alg     string `json:"alg"`
		Content string `json:"content"`
	}
	cdxLicense struct {
		License struct {
			ID string `json:"id"`
		} `json:"license"`
	}
	cdxProperty struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	cdxDependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn,omitempty"`
	}
	cdxComposition struct {
		Aggregate    string   `json:"aggregate"`
		Assemblies   []string `json:"assemblies"`
		Dependencies []string `json:"dependencies"`
	}
)

// check compares the modules with those that the linker noted in the binary.
func (b bill) check(binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	noted := map[string]string{stdlib: strings.TrimPrefix(info.GoVersion, "go")}
	for _, m := range info.Deps {
		if m.Replace != nil {
			return fmt.Errorf("module %s is replaced; a release is made of what go.sum vouches for", m.Path)
		}
		noted[m.Path] = m.Version + " " + m.Sum
	}
	for _, m := range b.Modules {
		want := m.Version
		if m.Path != stdlib {
			want += " " + m.Sum
		}
		if noted[m.Path] != want {
			return fmt.Errorf("internal error: the binary has %s %q, the list of packages %q", m.Path, noted[m.Path], want)
		}
		delete(noted, m.Path)
	}
	for m := range noted {
		return fmt.Errorf("internal error: the binary has %s, the list of packages does not", m)
	}
	return nil
}

// write writes the bill of a binary.
func (b bill) write(file, binary string) error {
	sum, err := sumOf(binary)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(b.cdx(sum), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}

// cdx is the bill in the form of CycloneDX. Its serial number comes from its content, so
// that making it again gives the same.
func (b bill) cdx(sum string) cdxBill {
	program := cdxComponent{
		Type: "application", Name: ourModule, Version: b.Version, Hashes: []cdxHash{{Alg: "SHA-256", Content: sum}},
		PURL:     fmt.Sprintf("pkg:generic/autopilot@%s?arch=%s&os=%s", escape(b.Version), b.Target.Arch, b.Target.OS),
		Licenses: make([]cdxLicense, 1),
	}
	program.Ref = program.PURL
	program.Licenses[0].License.ID = "MIT"
	out := cdxBill{
		BOMFormat: "CycloneDX", SpecVersion: "1.6", Version: 1, Components: []cdxComponent{},
		Metadata: cdxMetadata{Timestamp: b.At.Format(time.RFC3339), Component: program},
	}
	refs := map[string]string{}
	for _, m := range b.Modules {
		refs[m.Path] = packageURL(m)
	}
	use := func(ref string, paths []string) {
		d := cdxDependency{Ref: ref}
		for _, p := range paths {
			d.DependsOn = append(d.DependsOn, refs[p])
		}
		slices.Sort(d.DependsOn)
		out.Dependencies = append(out.Dependencies, d)
	}
	use(program.Ref, b.Uses)
	all := []string{program.Ref}
	for _, m := range b.Modules {
		c := cdxComponent{Type: "library", Name: m.Path, Version: m.Version, Scope: "required", PURL: refs[m.Path], Ref: refs[m.Path]}
		if m.Sum != "" {
			c.Properties = []cdxProperty{{Name: "go:sum", Value: m.Sum}}
		}
		out.Components = append(out.Components, c)
		use(c.Ref, m.Uses)
		all = append(all, c.Ref)
	}
	// Both lists are those of the packages that were compiled, and nothing else is in the binary.
	out.Compositions = []cdxComposition{{Aggregate: "complete", Assemblies: []string{program.Ref}, Dependencies: all}}
	whole := sha256.New()
	_ = json.NewEncoder(whole).Encode(out) // plain values: it cannot fail
	out.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceOID, []byte(hex.EncodeToString(whole.Sum(nil)))).String()
	return out
}

// packageURL is the package URL of a module: lower case, with escapes in each part.
func packageURL(m module) string {
	parts := strings.Split(strings.ToLower(m.Path), "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return "pkg:golang/" + path.Join(parts...) + "@" + escape(m.Version)
}

// escape is a version as it stands in a package URL.
func escape(version string) string { return strings.ReplaceAll(url.PathEscape(version), "+", "%2B") }
