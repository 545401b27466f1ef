#!/bin/sh
# Fetches promtool, with which the alerts are checked, into the user's cache: out of Debian's package prometheus, which is
# not installed, so that no service of it starts. Where it cannot be had it says so and succeeds: the tests then skip.
set -eu

cache=${XDG_CACHE_HOME:-$HOME/.cache}/fairlead
if [ -x "$cache/promtool" ] || command -v promtool >/dev/null 2>&1; then exit 0; fi
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
download() (
  cd "$work" && apt-get download -qq -o APT::Sandbox::User=root prometheus
)
if ! { download || { apt-get update -qq && download; }; } >/dev/null 2>&1; then
  echo "promtool cannot be fetched; the tests of the alerts are skipped" >&2
  exit 0
fi
dpkg-deb --fsys-tarfile "$work"/prometheus_*.deb | tar --extract --directory "$work" ./usr/bin/promtool
mkdir -p "$cache"
mv "$work/usr/bin/promtool" "$cache/promtool"
