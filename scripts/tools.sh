#!/bin/sh
# Usage: tools.sh COMMAND... sees to it that the commands are there that tests need beside Go, git and make. As root on
# Debian or Ubuntu what is missing is installed; elsewhere it is named. Exit status: 0, 1 when something is missing.
set -eu
PATH=$PATH:/usr/sbin:/sbin # where daemons are, and what installs packages looks for its own tools

missing=''
for command in "$@"; do
	package=$command
	case $command in
	crontab) package=cron ;;
	systemd-analyze) package=systemd ;;
	unshare) package=util-linux ;;
	esac
	command -v "$command" >/dev/null 2>&1 || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
	printf 'tools: missing, please install:%s\n' "$missing" >&2
	exit 1
fi
printf 'tools: installing%s\n' "$missing" >&2
DEBIAN_FRONTEND=noninteractive
export DEBIAN_FRONTEND
log=$(mktemp)
trap 'rm -f -- "$log"' EXIT
# shellcheck disable=SC2086 # they are words
if ! { apt-get update && apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1 </dev/null; then
	tail -n 20 "$log" >&2
	exit 1
fi
