#!/bin/sh
# Runs libvirt in the caller's namespaces: libvirt.sh DIRECTORY PACKAGES.
# Prints "ready" on standard output, and runs until it is killed, which ends its virtual machines too.
set -eu
dir=$1
# Snapshots of volumes in use need a filesystem whose files share blocks.
truncate --size=2G "$dir/disk"
mkfs.xfs -q "$dir/disk"
device=$(losetup --find --show "$dir/disk")
mount -t tmpfs -o mode=755 tmpfs "$dir"
mkdir "$dir/etc" "$dir/work" "$dir/pool" "$dir/machines"
mount "$device" "$dir/pool"
# The loop device goes away with its mount.
losetup --detach "$device"
mount -t overlay overlay -o "ro,lowerdir=$2/usr:/usr" /usr
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$dir/etc,workdir=$dir/work" /etc
mount -t proc proc /proc
for path in /run /var/lib /var/cache /var/log; do mount -t tmpfs -o mode=755 tmpfs "$path"; done
ip link set lo up
. "$(dirname "$0")/libvirtd.sh"
