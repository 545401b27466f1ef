#!/bin/sh
# Unpacks a Debian kernel and the programs that tests in a virtual machine use, below .cache/.
# Nothing is installed on this machine, and no service of theirs starts. Where they cannot be had it says why and
# succeeds: the tests in virtual machines are then skipped.
set -eu
cd "$(dirname "$0")/../.."

# The kernel is whichever the mirror has. What a package needs comes with it, as far as this machine has it not.
packages='qemu-system-x86 busybox-static kmod linux-image-amd64
  iproute2 nfs-kernel-server nfs-common
  nbd-server nbd-client open-iscsi nvme-cli multipath-tools secilc'

cache=.cache
# Another list is another directory; test/vm/packages.ts knows this name.
target=$cache/vm-$(sha256sum test/vm/packages.sh | cut -c1-12)

main() {
  [ ! -d "$target" ] || exit 0
  [ "$(uname -m)" = x86_64 ] || skip 'it is for x86-64 only'
  command -v apt-get >/dev/null 2>&1 || skip 'its packages come from Debian, with apt-get'
  mkdir -p "$cache"
  find "$cache" -maxdepth 1 '(' -name 'vm-*' -o -name 'draft-*' ')' -mmin +60 -exec rm -rf -- {} +
  draft=$(mktemp -d "$cache/draft-XXXXXX")
  trap 'rm -rf -- "$draft"' EXIT
  echo 'unpacking the packages of the test machine' >&2
  mkdir "$draft/debs"
  download || { apt-get update -qq >&2 && download; } || skip 'its packages cannot be downloaded'
  unpack
  index_modules
  touch "$draft/root"
  # A run beside this one may have been faster.
  mv -T "$draft/root" "$target" 2>/dev/null || [ -d "$target" ]
}

skip() {
  echo "no virtual machine for the tests: $1" >&2
  exit 0
}

download() {
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --download-only --reinstall --no-install-recommends \
    -o Debug::NoLocking=true -o Dir::Cache::archives="$PWD/$draft/debs" -- $packages >"$draft/log" 2>&1 ||
    { cat "$draft/log" >&2 && return 1; }
}

unpack() {
  mkdir -p "$draft/root/usr/bin" "$draft/root/usr/sbin" "$draft/root/usr/lib" "$draft/root/usr/lib64"
  for name in bin sbin lib lib64; do ln -s "usr/$name" "$draft/root/$name"; done
  for package in "$draft"/debs/*.deb; do
    dpkg-deb --fsys-tarfile "$package" >"$draft/tar"
    tar --extract --file "$draft/tar" --directory "$draft/root" --keep-directory-symlink --no-same-owner \
      --exclude './lib/modules/*/kernel/sound' --exclude './lib/modules/*/kernel/drivers/gpu' \
      --exclude './lib/modules/*/kernel/drivers/media' --exclude './lib/modules/*/kernel/drivers/net/wireless' \
      --exclude './lib/modules/*/kernel/drivers/net/ethernet' --exclude './usr/share/doc'
  done
}

# Without the index modprobe finds nothing.
index_modules() {
  kmod=$PWD/$draft/root/usr/bin/kmod
  [ -x "$kmod" ] || kmod=$(command -v kmod)
  ln -s "$kmod" "$draft/depmod"
  for kernel in "$draft"/root/usr/lib/modules/*; do
    "$draft/depmod" -b "$draft/root" "$(basename "$kernel")"
  done
}

main
