#!/bin/sh
# Runs libvirt, with QEMU's emulated processors, in the caller's namespaces: libvirt.sh DIRECTORY PACKAGES.
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
# Without cgroups libvirt leaves this machine's control groups alone.
umount --lazy /sys/fs/cgroup 2>/dev/null || true
ip link set lo up
# Virtual machines run as root, but libvirt still looks up its own user.
echo 'libvirt-qemu:x:64055:64055::/var/lib/libvirt:/usr/sbin/nologin' >>/etc/passwd
printf 'libvirt-qemu:x:64055:\nkvm:x:64056:\n' >>/etc/group
mkdir -p /etc/libvirt
cat >/etc/libvirt/qemu.conf <<END
user = "root"
group = "root"
security_driver = "none"
cgroup_controllers = []
namespaces = []
stdio_handler = "file"
END
printf 'auth_unix_rw = "none"\nauth_unix_ro = "none"\n' >/etc/libvirt/libvirtd.conf
libvirtd >"$dir/libvirtd.out" 2>&1 &
for _ in $(seq 120); do
  if virsh --quiet --connect qemu:///system uri >/dev/null 2>"$dir/said"; then
    echo ready
    wait
  fi
  sleep 0.5
done
cat "$dir/said" "$dir/libvirtd.out" >&2
exit 1
