#!/bin/sh
# Fetches promtool, which the tests of the alerts need, into the user's cache. It is taken out of Debian's package prometheus
# without installing the package, so that no service starts. Without promtool this script prints a message and succeeds, and
# the tests are skipped.
set -eu

cache=${XDG_CACHE_HOME:-$HOME/.cache}/fairlead
if [ -x "$cache/promtool" ] || command -v promtool >/dev/null 2>&1; then exit 0; fi
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
download() (
  cd "$work" && apt-get download -qq -o APT::Sandbox::User=root prometheus
)
if ! { download || { apt-get update -qq && download; }; } >/dev/null 2>&1; then
  echo "cannot fetch promtool from Debian's package prometheus; the tests of the alerts will be skipped" >&2
  exit 0
fi
dpkg-deb --fsys-tarfile "$work"/prometheus_*.deb | tar --extract --directory "$work" ./usr/bin/promtool
mkdir -p "$cache"
mv "$work/usr/bin/promtool" "$cache/promtool"
