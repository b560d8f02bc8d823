#!/bin/sh
# Installs a pinned version of the Claude Code CLI from npm, for tests, and prints the path of its native binary.
#
#   scripts/claude-cli.sh VERSION DIR
#
# The CLI lands in DIR/VERSION; the printed path is DIR/VERSION/claude, so that the process is named "claude" too.
# Nothing happens when that version is there and runs. Several runs at once are safe: each installs into a folder of its
# own and the first to finish wins. HOME is neither read nor written, except for the registry settings in ~/.npmrc.
# npm's own npm_config_* variables are respected. Exit status: 0, 1 on failure, 2 on wrong usage.
set -eu

say() { printf 'claude-cli: %s\n' "$*" >&2; }
die() {
	say "$@"
	exit 1
}
usage() {
	printf 'usage: claude-cli.sh VERSION DIR   (VERSION such as 2.1.330)\n' >&2
	exit 2
}

[ $# -eq 2 ] || usage
version=$1
case $version in
*[!0-9.]* | .* | *. | *..*) usage ;;
*.*.*) ;;
*) usage ;;
esac
[ -n "$2" ] || usage
mkdir -p -- "$2" || die "cannot make the folder $2"
# node brings certificates of its own and does not look at the system's, where a proxy's or a company's may be.
for bundle in "${NODE_EXTRA_CA_CERTS:-}" "${SSL_CERT_FILE:-}" /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt; do
	if [ -n "$bundle" ] && [ -r "$bundle" ]; then
		NODE_EXTRA_CA_CERTS=$bundle
		export NODE_EXTRA_CA_CERTS
		break
	fi
done
dir=$(CDPATH='' cd -- "$2" && pwd -P) || die "cannot enter the folder $2"
target=$dir/$version

# runs PATH: the file is the wanted version and works on this machine. It gets a HOME it may write to.
runs() {
	[ -x "$1" ] || return 1
	answer=$(HOME=${temp:-/nonexistent} "$1" --version 2>/dev/null </dev/null) || return 1
	case $answer in
	"$version "*) return 0 ;;
	*) return 1 ;;
	esac
}

# move FROM TO: rename(2) and nothing else. mv would put FROM into an existing folder TO.
move() {
	node -e 'try { fs.renameSync(process.argv[1], process.argv[2]) } catch { process.exit(1) }' "$1" "$2"
}

if runs "$target/claude"; then
	printf '%s\n' "$target/claude"
	exit 0
fi

command -v npm >/dev/null 2>&1 || die "npm is missing: install Node.js with npm, or put the CLI at $target/claude"
command -v node >/dev/null 2>&1 || die "node is missing: npm does not run without it"

temp=
clean() { [ -z "$temp" ] || rm -rf -- "$temp"; }
trap clean EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
temp=$(mktemp -d "$dir/.install.XXXXXX") || die "cannot write to $dir"
mkdir "$temp/home" "$temp/new"

# The rule is that of the package's own installer: a node built for glibc reports its version, one for musl does not.
platform=$(node -p '
	const musl = process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime
	process.platform + "-" + process.arch + (musl ? "-musl" : "")') || die "node does not run"

config=${npm_config_userconfig:-${NPM_CONFIG_USERCONFIG:-${HOME:-/nonexistent}/.npmrc}}
[ -r "$config" ] || config=$temp/home/.npmrc

say "installing version $version for $platform"
if ! (
	cd "$temp/new"
	printf '{"private":true}\n' >package.json
	HOME=$temp/home npm_config_userconfig=$config npm install --prefix "$temp/new" --cache "$temp/home/cache" \
		--no-global --ignore-scripts --include=optional --no-engine-strict --no-package-lock --no-audit --no-fund \
		--no-update-notifier --no-progress --loglevel=error \
		--fetch-retries=2 --fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=5000 \
		"@anthropic-ai/claude-code@$version"
) >"$temp/log" 2>&1 </dev/null; then
	tail -n 20 "$temp/log" >&2
	if grep -Eq 'ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ENOTCACHED' "$temp/log"; then
		die "cannot install version $version: the npm registry is not reachable (offline?)"
	elif grep -Eq 'CERT_|_CERT|UNABLE_TO_VERIFY' "$temp/log"; then
		die "cannot install version $version: the registry's certificate is not trusted; name yours in NODE_EXTRA_CA_CERTS"
	elif grep -Eq 'ETARGET|E404' "$temp/log"; then
		die "cannot install version $version: the npm registry does not have it"
	fi
	die "cannot install version $version: npm failed, its last words are above"
fi

native=node_modules/@anthropic-ai/claude-code-$platform/claude
[ -f "$temp/new/$native" ] ||
	die "npm left out the optional package claude-code-$platform: version $version does not support this platform," \
		"or npm is configured to omit optional packages"
ln -s "$native" "$temp/new/claude"
runs "$temp/new/claude" || die "the installed binary does not run as version $version: $(
	HOME=$temp "$temp/new/claude" --version 2>&1 </dev/null | head -n 3
)"

# The target is either not there, or complete by another run's hand, or broken: then it makes way once.
move "$temp/new" "$target" || runs "$target/claude" || {
	move "$target" "$temp/broken" || :
	move "$temp/new" "$target" || runs "$target/claude" || die "cannot put the CLI at $target: something else is there"
}
printf '%s\n' "$target/claude"
