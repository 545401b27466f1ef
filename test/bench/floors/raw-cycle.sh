#!/bin/sh
# Runs one node cycle with the system's commands alone for each line of standard input:
# raw-cycle.sh IMAGE STAGING TARGET [mkfs]
set -e
image=$1 staging=$2 target=$3 make=$4
while read -r _; do
  device=$(losetup --find --show "$image")
  blkid -p "$device" > /dev/null || [ "$make" = mkfs ]
  [ "$make" != mkfs ] || mkfs.ext4 -q "$device"
  mount -t ext4 "$device" "$staging"
  mkdir "$target"
  mount --bind "$staging" "$target"
  umount "$target"
  rmdir "$target"
  umount "$staging"
  losetup --detach "$device"
  echo done
done
