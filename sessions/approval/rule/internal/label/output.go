package label

import (
	"slices"
	"strings"
)

// Packed knows the folders that a build of a package for others makes, where a script of
// the package deletes them.
func Packed(name string) bool {
	return slices.Contains([]string{"lib", "esm", "cjs", "es", "umd", "types"}, name)
}

// MadeAnew knows the usual names of folders and files that a build or a test makes.
func MadeAnew(name string) bool {
	switch name {
	case "bin", "_site", "logs", "_out", "gen", "generated", "__generated__", "testdb", "test-db", "test_output", "test-output", "screenshots", ".vscode-test", ".idea",
		"node_modules", "dist", "build", "out", "target", "coverage", "htmlcov", "__pycache__", "venv", "obj", "tmp", "temp", ".tmp",
		".next", ".nuxt", ".output", ".turbo", ".cache", ".parcel-cache", ".svelte-kit", ".angular", ".vite", ".expo", ".docusaurus", ".astro",
		".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".nox", ".venv", ".eggs", ".ipynb_checkpoints", ".hypothesis",
		".gradle", ".kotlin", ".dart_tool", "DerivedData", ".build", "_build", ".terraform", ".serverless", ".aws-sam", "cdk.out",
		".nyc_output", "test-results", "playwright-report", "storybook-static", "jest-cache", ".jest-cache", ".eslintcache", ".stylelintcache",
		"bazel-out", "bazel-bin", "zig-cache", ".zig-cache", "zig-out", "elm-stuff", "deps_build", ".stack-work", "dist-newstyle", ".coverage",
		"*.pyc", "*.pyo", "*.o", "*.a", "*.so", "*.tmp", "*.log", "*.swp", "*~", "*.orig", "*.rej", "*.class", "*.tsbuildinfo", "*.map", ".DS_Store",
		"*.egg-info", "*.bak", "*.test", "*.prof", "*.out", "*.coverage",
		"package-lock.json", "yarn.lock", "pnpm-lock.yaml", "bun.lockb", "Gemfile.lock", "poetry.lock", "uv.lock", "Cargo.lock", "composer.lock":
		return true
	}
	venv, _ := strings.CutPrefix(strings.TrimPrefix(name, "."), "venv")
	return venv != strings.TrimPrefix(name, ".") && strings.Trim(venv, "0123456789.-tes") == "" || strings.HasSuffix(name, "_tmp") || strings.HasSuffix(name, "-tmp") ||
		strings.HasSuffix(name, ".egg-info") || strings.HasPrefix(name, "cmake-build-") || strings.HasPrefix(name, "dist-") || strings.HasPrefix(name, "build-") ||
		strings.HasSuffix(name, ".tsbuildinfo")
}
