#!/bin/sh
# Makes an image of 512 MiB with ext4 in the given directory, and for each line of standard input runs one node cycle on it
# with the system's commands alone.
set -e
cd "$1"
truncate --size 512M image
mkfs.ext4 -q -F image
mkdir staging
while read -r _; do
  device=$(losetup --find --show image)
  blkid -p "$device" > /dev/null
  mount -t ext4 "$device" staging
  mkdir target
  mount --bind staging target
  umount target
  rmdir target
  umount staging
  losetup --detach "$device"
  echo done
done
