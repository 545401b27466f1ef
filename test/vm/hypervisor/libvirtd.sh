#!/bin/sh
# Runs libvirt with QEMU's emulated processors on a machine, or in namespaces, with a root of its own: libvirtd.sh
# DIRECTORY. Prints "ready" on standard output, and runs until it is killed.
set -eu
dir=$1
# Without cgroups libvirt leaves this machine's control groups alone.
umount --lazy /sys/fs/cgroup 2>/dev/null || true
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
