#!/bin/sh
# Unpacks the packages of test/vm/packages.sh with ZFS below .cache/. Debian has the modules of ZFS as sources only, so they
# are built here for the virtual machine's kernel, which takes ten minutes.
set -eu
cd "$(dirname "$0")/../.."
. test/unpack-packages.sh

based_on=vm
machine=$(target_of vm)

# ZFS is in contrib, which few machines list: the lists of packages are read with it, in a directory of their own.
prepare() {
  mkdir "$draft/sources" "$draft/lists"
  for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
    [ ! -f "$list" ] || sed 's/\bmain\b/main contrib/' "$list" >"$draft/sources/$(basename "$list")"
  done
  apt_options="-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=$draft/sources
    -o Dir::State::Lists=$draft/lists -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache="
  apt_get update -qq >&2
}

# Adds the modules, and lays all over the virtual machine's packages.
finish() {
  kernel=$(basename "$machine"/usr/lib/modules/*)
  mkdir "$draft/build"
  build "$kernel" >"$draft/build/log" 2>&1 || {
    tail -n 30 "$draft/build/log" >&2
    skip "the modules of ZFS cannot be built for Linux $kernel; the lines above say why"
  }
  mv "$1" "$draft/programs"
  cp -al "$machine" "$1"
  cp -a --remove-destination "$draft/programs/." "$1"
  mkdir "$1/usr/lib/modules/$kernel/updates"
  cp "$draft"/build/changes/src/zfs-*/module/*/*.ko "$1/usr/lib/modules/$kernel/updates"
  index_modules "$1"
}

# Builds with the compiler and the sources laid over this machine's /usr.
build() {
  mkdir "$draft/build/debs" "$draft/build/changes" "$draft/build/work"
  (
    draft=$draft/build
    download gcc-12 make "linux-headers-$1" zfs-dkms && extract
  ) || return 1
  # shellcheck disable=SC2016 # The inner shell expands it.
  unshare --mount sh -euc '
    mount -t overlay -o "lowerdir=$1/root/usr:/usr,upperdir=$1/changes,workdir=$1/work" none /usr
    cd /usr/src/zfs-*
    ./configure CC=gcc-12 KERNEL_CC=gcc-12 --with-config=kernel \
      --with-linux="/usr/src/linux-headers-${2%-*}-common" --with-linux-obj="/usr/src/linux-headers-$2"
    make -j"$(nproc)"
  ' sh "$draft/build" "$1"
}

[ -d "$machine" ] || exit 0
unpack zfs zfsutils-linux udev
