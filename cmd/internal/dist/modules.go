package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is a module whose code is in a binary. The standard library is one too.
type module struct {
	Path, Version string
	Sum           string   // of go.sum; empty for the standard library
	Uses          []string // paths of the modules that its packages import
	folders       []string // of its packages, and the module's own
}

// stdlib is the path that the standard library has among modules.
const stdlib = "stdlib"

// listPackages prints for each package, with tabs between: its import path, its folder,
// the path, version, folder and sum of its module, and what it imports.
const listPackages = "{{.ImportPath}}\t{{.Dir}}\t{{if .Standard}}stdlib\t\t{{.Root}}\t{{else}}{{with .Module}}{{.Path}}\t{{.Version}}\t{{.Dir}}\t{{.Sum}}{{end}}{{end}}\t{{join .Imports \" \"}}"

// findModules lists the modules of the program for a target, sorted by path, and what the
// program's own packages import.
func findModules(ctx context.Context, t target) (all []module, uses []string, err error) {
	listed, err := output(ctx, environ(t), "go", "list", "-deps", "-f", listPackages, program)
	if err != nil {
		return nil, nil, err
	}
	version, err := output(ctx, nil, "go", "env", "GOVERSION")
	if err != nil {
		return nil, nil, err
	}
	return readModules(listed, strings.TrimPrefix(strings.TrimSpace(version), "go"))
}

func readModules(listed, goVersion string) (all []module, uses []string, err error) {
	byPath, owner, imports := map[string]*module{}, map[string]string{}, map[string][]string{}
	for line := range strings.Lines(listed) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 7 {
			return nil, nil, fmt.Errorf("internal error: go list prints %q", line)
		}
		name, folder, path, top := f[0], f[1], f[2], f[4]
		owner[name] = path
		imports[path] = append(imports[path], strings.Fields(f[6])...)
		m := byPath[path]
		if m == nil {
			m = &module{Path: path, Version: f[3], Sum: f[5]}
			if path == stdlib {
				m.Version = goVersion
			}
			byPath[path] = m
		}
		for dir := folder; strings.HasPrefix(dir, top) && !slices.Contains(m.folders, dir); dir = filepath.Dir(dir) {
			m.folders = append(m.folders, dir)
		}
	}
	for path, names := range imports {
		var used []string
		for _, name := range names {
			// Packages that come with the standard library are named without their folder.
			if to, ok := owner[name]; ok && to != path && to != ourModule {
				used = append(used, to)
			}
		}
		slices.Sort(used)
		byPath[path].Uses = slices.Compact(used)
	}
	for path, m := range byPath {
		if path == ourModule {
			uses = m.Uses
			continue
		}
		slices.Sort(m.folders)
		all = append(all, *m)
	}
	slices.SortFunc(all, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	return all, uses, nil
}

// notices are the licences and notices of modules in one text, as their licences ask of
// those who pass binaries on. A module without a licence is an error. Texts that several
// have are there once.
func notices(all []module) (string, error) {
	licence := regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-._].*)?$`)
	owners, order := map[string][]string{}, []string{}
	for _, m := range all {
		found := false
		for _, folder := range m.folders {
			files, err := os.ReadDir(folder)
			if err != nil {
				return "", err
			}
			for _, f := range files {
				if !f.Type().IsRegular() || !licence.MatchString(f.Name()) || strings.HasSuffix(f.Name(), ".go") {
					continue
				}
				data, err := os.ReadFile(filepath.Join(folder, f.Name()))
				if err != nil {
					return "", err
				}
				text := strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n"))
				if owners[text] == nil {
					order = append(order, text)
				}
				owners[text] = append(owners[text], m.Path+" "+m.Version)
				found = true
			}
		}
		if !found {
			return "", fmt.Errorf("module %s %s has no licence that could be passed on", m.Path, m.Version)
		}
	}
	var b strings.Builder
	b.WriteString("autopilot contains code of others. These are their licences and notices.\n")
	for _, text := range order {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("-", 78), strings.Join(slices.Compact(owners[text]), "\n"), text)
	}
	return b.String(), nil
}
