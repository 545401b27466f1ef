#!/bin/sh
# libvirt, with QEMU's emulated processors, in the namespaces that it is started in: libvirt.sh DIRECTORY PACKAGES.
# Says "ready" on standard output, and runs until it is killed, and its virtual machines with it.
set -eu
dir=$1
# Of volumes that are written snapshots are taken where files share blocks.
truncate --size=2G "$dir/disk"
mkfs.xfs -q "$dir/disk"
device=$(losetup --find --show "$dir/disk")
mount -t tmpfs -o mode=755 tmpfs "$dir"
mkdir "$dir/etc" "$dir/work" "$dir/pool" "$dir/machines"
mount "$device" "$dir/pool"
# It goes away with its mount.
losetup --detach "$device"
mount -t overlay overlay -o "ro,lowerdir=$2/usr:/usr" /usr
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$dir/etc,workdir=$dir/work" /etc
mount -t proc proc /proc
for path in /run /var/lib /var/cache /var/log; do mount -t tmpfs -o mode=755 tmpfs "$path"; done
# Those of this machine are another's to divide.
umount --lazy /sys/fs/cgroup 2>/dev/null || true
ip link set lo up
# A machine of the tests reads this machine's files. libvirt looks for its own user all the same.
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
