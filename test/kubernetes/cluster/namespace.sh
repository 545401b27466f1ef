#!/bin/sh
# The first process of a namespace (mounts, network, processes, host name) for the control planes of a site, or for a node.
# It prepares the namespace and prints "ready". When its standard input ends, because the run ended or was killed, it ends
# every process of the namespace and removes their files. Their mounts and interfaces end with the namespace.
#   namespace.sh site|node DIRECTORY KEEP CGROUP
# KEEP names directories, joined by colons, that stay visible even where something is mounted there.
set -eu
kind=$1
directory=$2
keep=$3
cgroup=$4

main() {
  mount --make-rprivate /
  forget_mounts
  hostname "$(basename "$directory")"
  ip link set lo up
  echo 1 >/proc/sys/net/ipv4/ip_forward
  "prepare_$kind"
  echo ready
  # Orphans of the namespace become children of this shell, which reaps them while it waits.
  cat >/dev/null
  kill -s KILL -- -1 2>/dev/null || true
  tries=0
  until "clear_$kind" 2>/dev/null || [ $tries -ge 100 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
  "clear_$kind"
  exit 0
}

# A copy of a mount would keep its filesystem busy after the host has unmounted it.
forget_mounts() {
  mounts | while read -r path; do
    case $path in / | /proc | /proc/* | /sys | /sys/* | /dev | /dev/*) continue ;; esac
    case :$keep: in *":$path:"* | *":$path/"*) continue ;; esac
    umount --lazy -- "$path" 2>/dev/null || true
  done
}

# The innermost first.
mounts() { cut -d ' ' -f 5 /proc/self/mountinfo | sort --reverse; }

prepare_site() { :; }

# The nodes' programs may still write while they are being ended.
clear_site() {
  mounts | while read -r path; do
    case $path in "$directory"/*) umount --lazy -- "$path" ;; esac
  done
  detach_loop_devices
  rm -rf -- "$directory"
}

# Nothing else detaches the loop devices of volumes that were in use when the run was killed.
detach_loop_devices() {
  ours=$(loop_devices_in_directory)
  until
    before=$ours
    ours="$ours $(loop_devices_on "$ours")"
    [ "$ours" = "$before " ]
  do :; done
  loop_devices NAME,MAJ:MIN | while read -r device number; do
    ! is_among "$number" "$ours" || losetup --detach "$device"
  done
}

# Compares inodes, because a device's path may be a path inside a container.
loop_devices_in_directory() {
  filesystem=$(stat --format %Hd:%Ld "$directory")
  loop_devices MAJ:MIN,BACK-INO,BACK-MAJ:MIN | while read -r number inode under; do
    [ "$under" = "$filesystem" ] && [ -n "$(find "$directory" -xdev -inum "$inode")" ] || continue
    echo "$number"
  done
}

# Lists the other loop devices whose files lie on filesystems of these devices.
loop_devices_on() {
  loop_devices MAJ:MIN,BACK-MAJ:MIN | while read -r number under; do
    if is_among "$under" "$1" && ! is_among "$number" "$1"; then echo "$number"; fi
  done
}

loop_devices() { losetup --list --noheadings --output "$1"; }

is_among() {
  for one in $2; do
    [ "$one" != "$1" ] || return 0
  done
  return 1
}

# Files of a node's programs below /run, /var/log and /var/lib lie in its directory or in memory.
prepare_node() {
  for hierarchy in $(hierarchies); do mkdir "$hierarchy/$cgroup"; done
  mount --make-rshared /
  mount -t tmpfs -o mode=755 tmpfs /run
  mount -t tmpfs -o mode=755 tmpfs /var/log
  mkdir -p /run/netns "$directory/lib" "$directory/lib-work"
  mount -t overlay -o "lowerdir=/var/lib,upperdir=$directory/lib,workdir=$directory/lib-work" overlay /var/lib
  for name in kubelet fairlead; do
    mkdir -p "/var/lib/$name" "$directory/$name"
    bind "$directory/$name" "/var/lib/$name"
  done
  spare_sysctls
}

clear_node() {
  for hierarchy in $(hierarchies); do
    [ -d "$hierarchy/$cgroup" ] || continue
    find "$hierarchy/$cgroup" -depth -type d -exec rmdir -- '{}' + || return 1
  done
}

# Lists one directory if the kernel has only control groups of the second version, else one per controller.
hierarchies() {
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    echo /sys/fs/cgroup
  else
    ls -d /sys/fs/cgroup/*/
  fi
}

# Kubelet sets these for the whole machine; here it sets copies.
spare_sysctls() {
  for name in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops kernel/keys/root_maxkeys \
    kernel/keys/root_maxbytes; do
    mkdir -p "$directory/sysctls/${name%/*}"
    cat "/proc/sys/$name" >"$directory/sysctls/$name"
    bind "$directory/sysctls/$name" "/proc/sys/$name"
  done
}

# Mounts below one of the paths do not show below the other.
bind() {
  mount --bind "$1" "$2"
  mount --make-private "$2"
  mount --make-shared "$2"
}

main
