#!/bin/sh
# Mounts the system's filesystems, runs a command in a directory, and turns the machine off: start.sh DIRECTORY COMMAND …
export NODE_COMPILE_CACHE=/run/compiled
# No udev runs in the machine, so LVM makes its device nodes itself.
export DM_DISABLE_UDEV=1
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TMPDIR=/scratch
mount -t proc -o nosuid,nodev,noexec proc /proc
mount -t sysfs -o nosuid,nodev,noexec sysfs /sys
mount -t cgroup2 none /sys/fs/cgroup
mount -t debugfs none /sys/kernel/debug
mount -t tmpfs -o mode=755 tmpfs /run
mkdir "$NODE_COMPILE_CACHE"
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose compiled "$NODE_COMPILE_CACHE"
mkdir -m 1777 /run/lock /run/shm
# Not below /run, where a node accepts no volume.
mkdir /scratch
mount -t tmpfs -o mode=1777 tmpfs /scratch
mkdir /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
ln -s /proc/self/fd /dev/fd
hostname guest
ip link set lo up
modprobe -a loop fuse
cd "$1"
shift
"$@"
sync
busybox poweroff -f
