package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module           = "autopilot"
	maxFunctionLines = 80
	maxFileLines     = 600
	maxPackageLines  = 2500
	maxFanOut        = 8
	maxParameters    = 5 // ctx and four more; then an options struct
	maxInterface     = 4
)

// layers orders the top-level folders: a package may import only what stands
// in its own folder or in one further down the list.
func layers() []string {
	return []string{"cmd", "supervisor", "reflector", "sessions", "probe", "metrics"}
}

// fanOutExceptions names the packages that may import more of the module than
// maxFanOut, each with its own limit, because wiring is what they are for.
func fanOutExceptions() map[string]int {
	return map[string]int{
		"supervisor":                   22,
		"sessions":                     11, // where the parts of one session meet
		"cmd/internal/cli":             1 << 10,
		"cmd/internal/cli/desk":        16,
		"supervisor/tdd/workflow":      10, // the parts of a test-driven run
		"cmd/internal/job":             39, // these wire the parts together for it
		"cmd/internal/beside":          11,
		"cmd/internal/follow":          18,
		"cmd/internal/judge":           12, // signals come from everywhere
		"cmd/internal/stories":         27,
		"cmd/internal/company":         9,
		"cmd/internal/start":           28,
		"cmd/internal/doctor":          11,
		"cmd/internal/night":           22, // what a run has beside its sessions
		"cmd/internal/courier":         10,
		"cmd/internal/morning":         22, // reads all that was written down of a run
		"cmd/internal/cli/nightcmd":    20,
		"cmd/internal/board":           20, // so does this, of all runs
		"cmd/internal/meter":           14,
		"cmd/internal/notifier":        11,
		"cmd/internal/vigil":           10,
		"cmd/internal/nightly":         19, // wires schedules, the run and notices together
		"cmd/internal/config":          11, // each option knows the package that it is for
		"cmd/internal/cli/keepcmd":     18, // an archive has a bit of everything
		"cmd/internal/cli/schedulecmd": 14,
	}
}

// confined names third-party modules that only some packages may import.
func confined() map[string][]string {
	return map[string][]string{
		"github.com/shirou/gopsutil":         {"probe"},
		"github.com/sashabaranov/go-openai":  {"reflector/llm"},
		"github.com/creack/pty":              {"sessions/ptyrun"},
		"github.com/lmittmann/tint":          {"cmd/internal/screen"},
		"github.com/spf13/cobra":             {"cmd/internal/cli", "cmd/internal/man"},
		"github.com/modelcontextprotocol":    {"sessions/mcpserver"},
		"github.com/tailscale/hujson":        {"cmd/internal/install"},
		"mvdan.cc/sh":                        {"sessions/approval/rule"},
		"github.com/sony/gobreaker":          {"supervisor/breaker"},
		"github.com/google/go-github":        {"supervisor/publish/github"},
		"github.com/andygrunwald/go-jira":    {"supervisor/publish/jira"},
		"github.com/microsoft/azure-devops":  {"supervisor/publish/azure"},
		"charm.land":                         {"cmd/internal/watch"},
		"github.com/nicholas-fedor/shoutrrr": {"supervisor/notice/channel/shout"},
		"github.com/netresearch/go-cron":     {"supervisor/schedule"},
		"howett.net/plist":                   {"supervisor/schedule/unit"},
		"github.com/coreos/go-systemd":       {"supervisor/schedule/unit"},
		"gopkg.in/natefinch/lumberjack.v2":   {"cmd/internal/nightly"},
		"github.com/chromedp":                {"cmd/internal/serve"},
		"github.com/prometheus":              {"metrics/telemetry", "cmd/internal/meter"},
		"go.opentelemetry.io":                {"metrics/telemetry", "cmd/internal/meter"},
	}
}

// bareGo lists the packages that may start a goroutine with a bare go
// statement; everything else uses a WaitGroup or an errgroup.
func bareGo() []string {
	return []string{"probe", "sessions", "sessions/ptyrun", "supervisor"}
}

type source struct {
	pkg   string // folder below the module root
	name  string
	file  *ast.File
	fset  *token.FileSet
	lines int
	test  bool
}

func load(t *testing.T) []source {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	var all []source
	for _, top := range append(layers(), "scripts") {
		err := filepath.WalkDir(filepath.Join(root, top), func(name string, d os.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err != nil {
				return err
			}
			if d.IsDir() && d.Name() == "testdata" {
				return filepath.SkipDir
			}
			if d.IsDir() || !strings.HasSuffix(name, ".go") {
				return nil
			}
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, name, data, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			all = append(all, source{
				pkg: path.Dir(filepath.ToSlash(rel)), name: filepath.ToSlash(rel), file: f, fset: fset,
				lines: strings.Count(string(data), "\n"), test: strings.HasSuffix(name, "_test.go"),
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(all) < 20 {
		t.Fatalf("found %d Go files, want the whole module: the walk looks in the wrong place", len(all))
	}
	return all
}

func imports(s source) []string {
	var out []string
	for _, i := range s.file.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err == nil {
			out = append(out, p)
		}
	}
	return out
}

func layerOf(pkg string) int {
	return slices.Index(layers(), strings.SplitN(pkg, "/", 2)[0])
}

func TestImportsPointDownwards(t *testing.T) {
	t.Parallel()
	for _, s := range load(t) {
		for _, p := range imports(s) {
			target, ours := strings.CutPrefix(p, module+"/")
			if !ours {
				continue
			}
			if layerOf(target) < layerOf(s.pkg) {
				t.Errorf("%s imports %s, which stands above it", s.name, p)
			}
		}
	}
}

func TestThirdPartyStaysWhereItBelongs(t *testing.T) {
	t.Parallel()
	for _, s := range load(t) {
		for _, p := range imports(s) {
			for mod, homes := range confined() {
				if p != mod && !strings.HasPrefix(p, mod+"/") {
					continue
				}
				inside := slices.ContainsFunc(homes, func(h string) bool {
					return s.pkg == h || strings.HasPrefix(s.pkg, h+"/")
				})
				if !inside {
					t.Errorf("%s imports %s, which only %v may", s.name, p, homes)
				}
			}
		}
	}
}

func TestFanOut(t *testing.T) {
	t.Parallel()
	out := map[string]map[string]bool{}
	for _, s := range load(t) {
		if s.test {
			continue
		}
		for _, p := range imports(s) {
			if target, ours := strings.CutPrefix(p, module+"/"); ours {
				if out[s.pkg] == nil {
					out[s.pkg] = map[string]bool{}
				}
				out[s.pkg][target] = true
			}
		}
	}
	for pkg, targets := range out {
		limit := maxFanOut
		if n, ok := fanOutExceptions()[pkg]; ok {
			limit = n
		}
		if len(targets) > limit {
			t.Errorf("%s imports %d packages of the module, limit %d", pkg, len(targets), limit)
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	perPackage := map[string]int{}
	for _, s := range load(t) {
		if s.lines > maxFileLines {
			t.Errorf("%s has %d lines, limit %d", s.name, s.lines, maxFileLines)
		}
		if !s.test {
			perPackage[s.pkg] += s.lines
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			f, ok := n.(*ast.FuncDecl)
			if !ok || f.Body == nil || s.test {
				return true
			}
			lines := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
			if lines > maxFunctionLines {
				t.Errorf("%s: %s has %d lines, limit %d", s.name, f.Name.Name, lines, maxFunctionLines)
			}
			if n := f.Type.Params.NumFields(); n > maxParameters {
				t.Errorf("%s: %s has %d parameters, limit %d", s.name, f.Name.Name, n, maxParameters)
			}
			return true
		})
	}
	for pkg, n := range perPackage {
		if n > maxPackageLines {
			t.Errorf("%s has %d lines, limit %d", pkg, n, maxPackageLines)
		}
	}
}

func TestShapes(t *testing.T) {
	t.Parallel()
	for _, s := range load(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.InterfaceType:
				if n.Methods != nil && n.Methods.NumFields() > maxInterface {
					t.Errorf("%s: an interface with %d methods, limit %d", s.name, n.Methods.NumFields(), maxInterface)
				}
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					t.Errorf("%s: init functions hide what runs", s.name)
				}
			case *ast.GoStmt:
				if !slices.Contains(bareGo(), s.pkg) {
					t.Errorf("%s: bare go statement; use a WaitGroup or an errgroup", s.name)
				}
			}
			return true
		})
	}
}

func TestEveryPackageAndExportIsDocumented(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, s := range load(t) {
		if s.test {
			continue
		}
		if _, seen := documented[s.pkg]; !seen {
			documented[s.pkg] = false
		}
		if s.file.Doc != nil {
			documented[s.pkg] = true
		}
		for _, missing := range undocumented(s.file) {
			t.Errorf("%s: exported %s has no comment", s.name, missing)
		}
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("package %s has no package comment", pkg)
		}
	}
}

func undocumented(f *ast.File) []string {
	var out []string
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && receiverExported(d) {
				out = append(out, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, sp := range d.Specs {
				switch sp := sp.(type) {
				case *ast.TypeSpec:
					if sp.Name.IsExported() && d.Doc == nil && sp.Doc == nil {
						out = append(out, sp.Name.Name)
					}
				case *ast.ValueSpec:
					if sp.Names[0].IsExported() && d.Doc == nil && sp.Doc == nil && sp.Comment == nil {
						out = append(out, sp.Names[0].Name)
					}
				}
			}
		}
	}
	return out
}

func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	t := d.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if g, ok := t.(*ast.IndexExpr); ok {
		t = g.X
	}
	id, ok := t.(*ast.Ident)
	return ok && id.IsExported()
}

func TestRulesFindViolations(t *testing.T) {
	t.Parallel()
	if got, want := layerOf("probe/tier"), 4; got != want {
		t.Errorf("layerOf(probe/tier) = %d, want %d", got, want)
	}
	f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc F(){}\ntype T int\nfunc (T) m(){}\n", parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(undocumented(f)), "[F T]"; got != want {
		t.Errorf("undocumented = %s, want %s", got, want)
	}
}
