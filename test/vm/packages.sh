#!/bin/sh
# Unpacks a Debian kernel and the programs that tests in a virtual machine use, below .cache/.
set -eu
cd "$(dirname "$0")/../.."
. test/unpack-packages.sh

finish() { index_modules "$1"; }

[ "$(uname -m)" = x86_64 ] || { echo 'the tests in test/vm are skipped: they are for x86-64 only' >&2 && exit 0; }
# The mirror decides the kernel's version.
unpack vm qemu-system-x86 busybox-static kmod linux-image-amd64 \
  iproute2 nfs-kernel-server nfs-common \
  open-iscsi nvme-cli multipath-tools secilc \
  cryptsetup-bin dmsetup lvm2 thin-provisioning-tools \
  libvirt-daemon libvirt-daemon-driver-qemu libvirt-clients
