#!/bin/sh
# Unpacks the kernel of Debian's backports below .cache/: the kernel of Debian 12 cannot authenticate NVMe connections.
set -eu
cd "$(dirname "$0")/../.."
. test/unpack-packages.sh

# Downloads a kernel from lists of its own, because the backports are no source of this machine.
download() {
  mkdir -p "$draft/lists/partial"
  echo 'deb http://deb.debian.org/debian bookworm-backports main' >"$draft/sources"
  (
    cd "$draft/debs"
    apt-get -qq -o Debug::NoLocking=true -o APT::Sandbox::User=root download kmod >&2 || exit 1
    set -- "$1" -o Debug::NoLocking=true -o APT::Sandbox::User=root -o Dir::State::Lists="$draft/lists" \
      -o Dir::Etc::SourceList="$draft/sources" -o Dir::Etc::SourceParts=/dev/null
    package=$1
    shift
    apt-get -qq "$@" update >&2 || exit 1
    kernel=$(apt-cache "$@" depends "$package" | sed -n 's/^ *Depends: *\(linux-image-.*\)/\1/p')
    apt-get -qq "$@" download "$kernel" >&2
  )
}

finish() { index_modules "$1"; }

[ "$(uname -m)" = x86_64 ] || { echo 'the tests of newer kernels are skipped: they are for x86-64 only' >&2 && exit 0; }
unpack newer-kernel linux-image-amd64
