#!/bin/sh
# Installs a release of autopilot below a prefix, or removes it again. 'install.sh --help' tells how.
#
# Nothing is written outside the prefix but a temporary folder, which is gone at the end, however it ends. What was
# downloaded is used when its SHA-256 sum is the one in SHA256SUMS; that guards against damage, and against others on
# the way by https, not against whoever can write to the place of the releases. All files are put beside their places
# first, and then renamed into them, also over a binary that runs; what stops it before leaves everything as it was.
# Exit status: 0, 1 on failure, 2 on wrong usage. The last line calls the rest, so half a script does nothing.
set -eu

default_url=''

say() { printf 'install: %s\n' "$*" >&2; }
die() {
	say "$@"
	exit 1
}
wrong() {
	say "$@"
	say "see 'install.sh --help'"
	exit 2
}

help() {
	cat <<'END'
usage: install.sh [--from URL|FOLDER] [--version VERSION] [--prefix FOLDER] [--timeout SECONDS] [--force]
       install.sh --uninstall [--prefix FOLDER]

  --from       where releases are: an https URL (http on this machine alone), or a folder;
               without it $AUTOPILOT_RELEASE_URL
  --version    which version, such as 1.2.3; without it what latest.txt there names
  --prefix     where to: FOLDER/bin, FOLDER/share/man, ... ($HOME/.local)
  --timeout    how long a server may say nothing, in seconds (30)
  --force      replace files that are in the way and were not put there by this script
  --uninstall  remove what this script put below the prefix, and nothing else

Needs curl or wget for URLs, tar with gzip, and one of sha256sum, shasum and openssl. zsh finds
its completions when FOLDER/share/zsh/site-functions is in its fpath.
END
}

# sha256 FILE: its sum. There is always a tool: main asks first.
sha256() {
	case $summer in
	sha256sum) summed=$(sha256sum <"$1") ;;
	shasum) summed=$(shasum -a 256 <"$1") ;;
	*) summed=$(openssl dgst -sha256 -r <"$1") ;;
	esac || die "cannot compute the sum of $1"
	printf '%s\n' "${summed%% *}"
}

# plain WORD: it is made of characters that mean nothing to a shell, a URL or a tar.
plain() {
	case $1 in
	'' | *[!A-Za-z0-9._/+-]*) return 1 ;;
	esac
}

# inside PATH: it is relative and stays below where it starts.
inside() {
	plain "$1" || return 1
	case /$1/ in
	*//* | */../* | */./*) return 1 ;;
	esac
}

is_version() {
	plain "$1" || return 1
	case $1 in
	*/* | *..* | .* | *.) return 1 ;;
	[0-9]*.[0-9]*.[0-9]*) return 0 ;;
	*) return 1 ;;
	esac
}

platform() {
	system=$(uname -s) machine=$(uname -m)
	case $system in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	*) die "there are no releases for $system, only for Linux and macOS" ;;
	esac
	case $machine in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) die "there are no releases for $system on $machine, only for x86_64 and arm64" ;;
	esac
	# A shell that runs under Rosetta is told that the machine is another than it is.
	if [ "$os/$arch" = darwin/amd64 ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null || :)" = 1 ]; then
		arch=arm64
	fi
}

# place FROM: sets kind to folder, https or http, and base.
place() {
	base=$1
	case $base in
	*://*) ;;
	*)
		kind=folder
		base=$(CDPATH='' cd -- "$base" 2>/dev/null && pwd -P) || die "there is no folder $1"
		return 0
		;;
	esac
	case $base in
	*@*) wrong "no name or password in the URL: lists of processes would show it" ;;
	*[!]A-Za-z0-9.:/_~%+,=[-]*) wrong "a character in the URL that does not belong there" ;;
	esac
	while [ "${base%/}" != "$base" ]; do base=${base%/}; done
	kind=${base%%://*}
	host=${base#*://}
	host=${host%%/*}
	case $host in
	\[*\] | \[*\]:*) host=${host%%]*}] ;;
	*) host=${host%%:*} ;;
	esac
	[ -n "$host" ] || wrong "a URL without a host"
	case $kind/$host in
	https/* | http/localhost | 'http/[::1]') ;;
	http/127.*[!0-9.]*) wrong "plain http to another machine, want https" ;;
	http/127.*) ;;
	http/*) wrong "plain http to another machine, want https" ;;
	*) wrong "$kind is no scheme for releases, want https" ;;
	esac
}

# fetch NAME FILE: gets NAME from below the base. Returns 4 when it is not there, and dies of everything else.
fetch() {
	if [ "$kind" = folder ]; then
		[ -f "$base/$1" ] || return 4
		cp -- "$base/$1" "$2" || die "cannot read $base/$1"
		return 0
	fi
	gotten=0
	# In blocks of 512 bytes, or of 1024 in some shells: a server that never ends must not fill the disk.
	(
		ulimit -f 1048576 2>/dev/null || :
		download "$base/$1" "$2"
	) >"$temp/log" 2>&1 </dev/null || gotten=$?
	if grep -Eq '^ *Location: *http://' "$temp/log" && [ "$kind" = https ]; then
		die "cannot download $1: the server sends us from https to http"
	fi
	[ "$gotten" -ne 0 ] || return 0
	if grep -Eq '(^| )(HTTP/[0-9.]+ |error: )404' "$temp/log"; then
		return 4
	fi
	tail -n 3 "$temp/log" | tr -d '\000-\010\013-\037\177' >&2
	die "cannot download $1 from $base"
}

download() {
	if [ "$loader" = curl ]; then
		if [ "$kind" = https ]; then
			set -- "$@" --proto '=https' --tlsv1.2 --location --max-redirs 5
		else
			set -- "$@" --proto '=http' --noproxy '*' --location --max-redirs 0
		fi
		got=$1 to=$2
		shift 2
		curl --fail --silent --show-error --globoff --connect-timeout "$timeout" --speed-limit 1 --speed-time "$timeout" \
			--max-time $((timeout * 60)) "$@" --output "$to" "$got"
	elif [ "$loader" = wget ]; then
		if [ "$kind" = https ]; then
			set -- "$@" --max-redirect=5
		else
			set -- "$@" --max-redirect=0 --no-proxy
		fi
		got=$1 to=$2
		shift 2
		wget --server-response --no-verbose --tries=1 --timeout="$timeout" "$@" -O "$to" "$got"
	else
		unset http_proxy
		if command -v timeout >/dev/null 2>&1; then
			timeout "$timeout" wget -O "$2" "$1" # its own -T crashes in some builds of busybox
		else
			wget -O "$2" "$1"
		fi
	fi
}

find_loader() {
	loader=''
	[ "$kind" != folder ] || return 0
	if command -v curl >/dev/null 2>&1; then
		loader=curl
		return 0
	fi
	command -v wget >/dev/null 2>&1 || die "curl or wget is missing"
	case $(wget --version 2>&1 </dev/null || :) in
	*'GNU Wget'*) loader=wget ;;
	*)
		# The small ones do not all check certificates, and follow whatever they are told.
		[ "$kind" = http ] || die "this wget may not check certificates: install curl"
		loader=small-wget
		;;
	esac
}

# choose: sets version and folder, the one below the base that holds it, and gets its sums.
choose() {
	if [ -z "$version" ] && fetch latest.txt "$temp/latest"; then
		[ "$(wc -c <"$temp/latest")" -le 256 ] || die "latest.txt is too large for a version"
		version=$(tr -d '\r' <"$temp/latest")
		version=${version#v}
		is_version "$version" || die "latest.txt does not name a version"
	fi
	folder=''
	if [ -n "$version" ]; then
		folder=v$version/
	fi
	if [ -z "$folder" ] || ! fetch "${folder}SHA256SUMS" "$temp/sums"; then
		# A folder may also hold one release itself.
		folder=''
		fetch SHA256SUMS "$temp/sums" || die "there are no releases${version:+ of version $version} at $base, or they have no SHA256SUMS"
	fi
	if [ -z "$version" ]; then
		version=$(awk -v head=autopilot_ -v tail="_${os}_$arch.tar.gz" '{
			sub(/^\*/, "", $2); n = length($2) - length(tail)
			if (index($2, head) == 1 && n > length(head) && substr($2, n + 1) == tail) print substr($2, length(head) + 1, n - length(head))
		}' "$temp/sums")
		is_version "$version" || die "SHA256SUMS at $base has not exactly one version for $os on $arch: name it with --version"
	fi
	name=autopilot_${version}_${os}_$arch
}

# unpack: gets the archive, checks its sum and what is in it, and unpacks it into the temporary folder.
unpack() {
	want=$(awk -v name="$name.tar.gz" '$2 == name || $2 == "*" name { print $1; n++ } END { exit n != 1 }' "$temp/sums") ||
		die "SHA256SUMS does not have one line for $name.tar.gz"
	case $want in
	*[!0-9a-f]*) die "what SHA256SUMS has for $name.tar.gz is no sum" ;;
	esac
	[ ${#want} -eq 64 ] || die "what SHA256SUMS has for $name.tar.gz is no sum"
	fetch "$folder$name.tar.gz" "$temp/archive" || die "there is no $folder$name.tar.gz at $base"
	got=$(sha256 "$temp/archive") || exit 1
	[ "$got" = "$want" ] || die "$name.tar.gz is not what SHA256SUMS says: its sum is $got, want $want. Nothing was changed"

	tar -tzf "$temp/archive" >"$temp/list" 2>"$temp/log" </dev/null || die "$name.tar.gz is damaged"
	while IFS= read -r entry; do
		inside "${entry%/}" || die "$name.tar.gz has a path that leads elsewhere"
		case ${entry%/}/ in
		"$name"/*) ;;
		*) die "$name.tar.gz has a path that leads elsewhere" ;;
		esac
	done <"$temp/list"
	tar -tvzf "$temp/archive" 2>"$temp/log" </dev/null | awk '!/^[-d]/ || / -> / || / link to / { exit 1 }' ||
		die "$name.tar.gz has links or devices in it"
	mkdir "$temp/new"
	(
		ulimit -f 1048576 2>/dev/null || :
		cd "$temp/new" && tar -xzof "$temp/archive" </dev/null
	) 2>"$temp/log" || die "$name.tar.gz is damaged"
	if [ -n "$(find "$temp/new" ! -type d \( ! -type f -o -links +1 \) -print)" ]; then
		die "$name.tar.gz has links or devices in it"
	fi
	[ -f "$temp/new/$name/autopilot" ] || die "$name.tar.gz has no autopilot in it"
}

# plan: which file goes where, with which mode, a line for each.
plan() {
	cd "$temp/new/$name"
	for file in man/man1/*.1; do
		[ ! -f "$file" ] || printf '644 %s share/%s\n' "$file" "$file"
	done
	while read -r mode file to; do
		[ ! -f "$file" ] || printf '%s %s %s\n' "$mode" "$file" "$to"
	done <<-END
		644 completions/autopilot.bash share/bash-completion/completions/autopilot
		644 completions/_autopilot share/zsh/site-functions/_autopilot
		644 completions/autopilot.fish share/fish/vendor_completions.d/autopilot.fish
		644 LICENSE share/doc/autopilot/LICENSE
		644 README.md share/doc/autopilot/README.md
		644 CHANGELOG.md share/doc/autopilot/CHANGELOG.md
		644 NOTICES share/doc/autopilot/NOTICES
		755 install.sh share/autopilot/install.sh
		755 autopilot bin/autopilot
	END
}

# ours PATH MANIFEST: the manifest has it.
ours() {
	[ -f "$2" ] && awk -v path="$1" 'length($1) == 64 && $2 == path { found = 1 } END { exit !found }' "$2"
}

# folders: makes the folders that are missing below the prefix and notes those that it made.
folders() {
	while read -r mode file to; do
		below=${to%/*}
		path=''
		while [ -n "$below" ]; do
			path=${path:+$path/}${below%%/*}
			case $below in
			*/*) below=${below#*/} ;;
			*) below='' ;;
			esac
			if [ ! -d "$prefix/$path" ]; then
				mkdir -- "$prefix/$path" 2>"$temp/log" || die "cannot make the folder $prefix/$path: $(cat "$temp/log")"
				printf 'dir %s\n' "$path" >>"$temp/made"
			fi
		done
	done <"$temp/places"
}

# stage: puts every file beside its place, and notes name, place and sum.
stage() {
	while read -r mode file to; do
		target=$prefix/$to
		if [ -d "$target" ]; then
			die "$target is a folder"
		elif [ -z "$force" ] && { [ -e "$target" ] || [ -L "$target" ]; } && ! ours "$to" "$manifest"; then
			die "$target was not put there by this script; --force replaces it. Nothing was changed"
		fi
		beside=$(mktemp "${target%/*}/.autopilot.XXXXXX" 2>"$temp/log") || die "cannot write to ${target%/*}: $(cat "$temp/log")"
		printf '%s %s\n' "${beside##*/}" "$to" >>"$temp/staged"
		cp -- "$temp/new/$name/$file" "$beside" 2>"$temp/log" || die "cannot write to ${target%/*}: $(cat "$temp/log")"
		chmod "$mode" "$beside"
		if [ "$to" = bin/autopilot ]; then
			said=$("$beside" version 2>&1 </dev/null | head -n 1) || :
			[ "$said" = "autopilot $version" ] || die "the new autopilot does not run here, or is not version $version. Nothing was changed"
		fi
		summed=$(sha256 "$beside") || exit 1
		printf '%s  %s\n' "$summed" "$to" >>"$temp/sums.new"
	done <"$temp/plan"
}

# beside_manifest: makes a file beside the manifest and prints its path.
beside_manifest() {
	beside=$(mktemp "${manifest%/*}/.autopilot.XXXXXX") || die "cannot write to ${manifest%/*}"
	printf '%s share/autopilot/manifest\n' "${beside##*/}" >>"$temp/staged"
	chmod 644 "$beside"
	printf '%s\n' "$beside"
}

install() {
	platform
	find_loader
	choose
	unpack
	(plan) >"$temp/plan" || exit 1
	: >"$temp/made"
	: >"$temp/staged"
	if [ ! -d "$prefix" ]; then
		mkdir -p -- "$prefix" 2>"$temp/log" || die "cannot make the folder $prefix: $(cat "$temp/log")"
		printf 'dir .\n' >>"$temp/made"
	fi
	full=$(CDPATH='' cd -- "$prefix" && pwd) || die "cannot enter the folder $prefix"
	prefix=$full
	manifest=$prefix/share/autopilot/manifest
	{
		cat "$temp/plan"
		printf '644 - share/autopilot/manifest\n'
	} >"$temp/places"
	folders
	stage
	: >"$temp/old"
	[ ! -f "$manifest" ] || cat -- "$manifest" >"$temp/old"

	# Until all is in its place the manifest has both the old files and the new ones.
	both=$(beside_manifest) || exit 1
	last=$(beside_manifest) || exit 1
	title="# autopilot $version: what install.sh put below this folder; 'install.sh --uninstall' removes it"
	{
		printf '%s\n' "$title"
		awk '$1 == "dir"' "$temp/old"
		cat "$temp/made" "$temp/sums.new"
	} >"$last"
	{
		cat "$last"
		awk 'length($1) == 64' "$temp/old"
	} >"$both"
	trap '' HUP INT TERM
	mv -f -- "$both" "$manifest"
	: >"$temp/made" # from here the manifest knows them
	while read -r beside to; do
		case $to in
		share/autopilot/manifest) ;;
		*) mv -f -- "$prefix/${to%/*}/$beside" "$prefix/$to" ;;
		esac
	done <"$temp/staged"
	# What the old version had and the new one has not.
	while read -r sum path; do
		case $sum in
		dir | '#') continue ;;
		esac
		if inside "$path" && ! ours "$path" "$last"; then
			remove "$path"
		fi
	done <"$temp/old"
	mv -f -- "$last" "$manifest"
	tell
}

tell() {
	say "autopilot $version is at $prefix/bin/autopilot"
	case :${PATH:-}: in
	*:"$prefix/bin":*) ;;
	*)
		say "$prefix/bin is not on your PATH: add it in your shell's profile"
		return 0
		;;
	esac
	first=$(command -v autopilot) || first=''
	if [ -n "$first" ] && [ "$first" != "$prefix/bin/autopilot" ]; then
		say "another autopilot comes first on your PATH: $first"
	fi
}

# remove PATH: removes a file below the prefix when it is what the manifest says.
remove() {
	target=$prefix/$1
	[ -e "$target" ] || [ -L "$target" ] || return 0
	if [ -f "$target" ] && [ ! -L "$target" ]; then
		summed=$(sha256 "$target") || exit 1
		if grep -Fqx "$summed  $1" "$temp/old"; then
			rm -f -- "$target" || die "cannot remove $target"
			return 0
		fi
	fi
	say "kept, because it was changed since: $target"
}

uninstall() {
	full=$(CDPATH='' cd -- "$prefix" 2>/dev/null && pwd) || {
		say "nothing to remove: there is no folder $prefix"
		return 0
	}
	prefix=$full
	manifest=$prefix/share/autopilot/manifest
	if [ ! -f "$manifest" ]; then
		say "nothing to remove: this script put nothing below $prefix"
		return 0
	fi
	cat -- "$manifest" >"$temp/old"
	while read -r sum path; do
		[ "$sum" = '#' ] || inside "$path" || [ "$path" = . ] || die "$manifest is damaged: nothing was removed"
	done <"$temp/old"
	[ -w "${manifest%/*}" ] || die "cannot write to ${manifest%/*}: nothing was removed"
	while read -r sum path; do
		case $sum in
		dir | '#') ;;
		*) remove "$path" ;;
		esac
	done <"$temp/old"
	rm -f -- "$manifest" || die "cannot remove $manifest"
	rmdirs "$temp/old"
	say "removed from $prefix; runs and settings are where they were"
}

# rmdirs FILE: removes the folders that FILE names, from the last to the first, where they are empty.
rmdirs() {
	awk '$1 == "dir" { line[++n] = $2 } END { while (n) print line[n--] }' "$1" | while read -r path; do
		if [ "$path" = . ]; then path=''; fi
		rmdir -- "$prefix${path:+/$path}" 2>/dev/null || :
	done
}

# clean: removes the temporary folder, and what was put beside its place and not renamed.
clean() {
	status=$?
	trap '' HUP INT TERM
	if [ -n "$temp" ]; then
		if [ -f "$temp/staged" ]; then
			while read -r beside to; do
				rm -f -- "$prefix/${to%/*}/$beside"
			done <"$temp/staged"
		fi
		[ ! -f "$temp/made" ] || rmdirs "$temp/made"
		rm -rf -- "$temp"
	fi
	exit "$status"
}

main() {
	LC_ALL=C
	export LC_ALL
	umask 022
	from=${AUTOPILOT_RELEASE_URL:-$default_url} version='' prefix='' timeout=30 force='' task=install
	while [ $# -gt 0 ]; do
		case $1 in
		--from | --version | --prefix | --timeout)
			[ $# -ge 2 ] || wrong "$1 needs a value"
			option=$1 value=$2
			shift
			;;
		--from=* | --version=* | --prefix=* | --timeout=*) option=${1%%=*} value=${1#*=} ;;
		--force | --uninstall | --help | -h) option=$1 value=none ;;
		*) wrong "what is $1?" ;;
		esac
		[ -n "$value" ] || wrong "$option needs a value"
		case $option in
		--from) from=$value ;;
		--version) version=${value#v} ;;
		--prefix) prefix=$value ;;
		--timeout) timeout=$value ;;
		--force) force=yes ;;
		--uninstall) task=uninstall ;;
		*)
			help
			return 0
			;;
		esac
		shift
	done
	[ -z "$version" ] || is_version "$version" || wrong "--version wants a version such as 1.2.3"
	case $timeout in
	*[!0-9]* | 0* | ?????*) wrong "--timeout wants a number of seconds" ;;
	esac
	if [ -z "$prefix" ]; then
		[ -n "${HOME:-}" ] || wrong "HOME is not set: name a folder with --prefix"
		prefix=$HOME/.local
	fi
	case $prefix in
	*'
'*) wrong "a line end in the name of the prefix" ;;
	/*) ;;
	*) prefix=$PWD/$prefix ;;
	esac
	summer=''
	for tool in openssl shasum sha256sum; do
		if command -v "$tool" >/dev/null 2>&1; then summer=$tool; fi
	done
	[ -n "$summer" ] || die "sha256sum, shasum or openssl is missing: nothing can be checked, so nothing was done"
	for tool in awk mktemp tar; do
		command -v "$tool" >/dev/null 2>&1 || die "$tool is missing"
	done
	if [ "$task" = install ]; then
		[ -n "$from" ] || wrong "nobody said where releases are: --from URL, or AUTOPILOT_RELEASE_URL"
		place "$from"
	fi
	temp=''
	trap clean EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 143' TERM
	temp=$(mktemp -d "${TMPDIR:-/tmp}/autopilot.XXXXXX") || die "cannot make a temporary folder"
	case $task in
	install) install ;;
	*) uninstall ;;
	esac
}

{ main "$@"; }
