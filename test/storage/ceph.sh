#!/bin/sh
# Runs Ceph on one machine, in the caller's namespaces: ceph.sh DIRECTORY PACKAGES.
# Prints "ready" on standard output, and runs until it is killed.
set -eu
. "$(dirname "$0")/../until-done.sh"
dir=$1
mount -t overlay overlay -o "ro,lowerdir=$2/usr:/usr" /usr
ip link set lo up
# Virtual machines reach this address too; 127.0.0.1 is their own.
ip link add ve0 type veth peer name ve1
ip address add 192.168.78.1/24 dev ve0
ip link set ve0 up
ip link set ve1 up
# In memory, so that nothing waits for a disk.
mount -t tmpfs tmpfs "$dir"
cd "$dir"
export CEPH_CONF="$dir/ceph.conf" HOME="$dir"
fsid=$(cat /proc/sys/kernel/random/uuid)
osd=$(cat /proc/sys/kernel/random/uuid)

# Only the tests reach the network of these namespaces. Copies and reserves are turned off.
cat >ceph.conf <<END
[global]
fsid = $fsid
mon initial members = a
mon host = v1:192.168.78.1:6789
public network = 192.168.78.0/24
keyring = $dir/keyring
auth allow insecure global id reclaim = false
mgr initial modules =
run dir = $dir
admin socket =
crash dir = $dir
log file = $dir/\$name.log
mon cluster log file = $dir/cluster.log
osd pool default size = 1
osd pool default min size = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
rbd default clone format = 2
[mon]
mon data = $dir/mon
mon allow pool size one = true
mon data avail crit = 1
mon data avail warn = 1
# A change is committed at once, instead of a second after the last one.
paxos propose interval = 0.01
paxos min wait = 0.01
[mgr]
mgr data = $dir
[mds]
mds data = $dir
# Commands arrive on this socket.
admin socket = $dir/mds.asok
mds cache memory limit = 67108864
[osd]
osd data = $dir/osd
# Time in seconds until the cluster notices a client that has stopped; the default is 30.
osd client watch timeout = 10
bluestore block size = 5368709120
bluestore cache autotune = false
bluestore cache size = 67108864
END

mkdir mon osd
monmaptool --create --fsid "$fsid" --addv a v1:192.168.78.1:6789 monmap >&2
key() { ceph-authtool keyring --gen-key --name "$@" >&2; }
ceph-authtool keyring --create-keyring >&2
key mon. --cap mon 'allow *'
key client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *' --cap mds 'allow *'
key mgr.a --cap mon 'allow profile mgr' --cap osd 'allow *' --cap mds 'allow *'
key mds.a --cap mon 'allow profile mds' --cap osd 'allow rwx' --cap mds 'allow'
key osd.0 --cap mon 'allow profile osd' --cap osd 'allow *' --cap mgr 'allow profile osd'
ceph-mon --mkfs --id a --monmap monmap --keyring keyring
ceph-mon --foreground --id a >mon.out 2>&1 &
until_done ceph --connect-timeout 5 osd new "$osd" 0
ceph-osd --mkfs --id 0 --osd-uuid "$osd" >osd.out 2>&1
ceph-osd --foreground --id 0 >>osd.out 2>&1 &
ceph-mgr --foreground --id a >mgr.out 2>&1 &
ceph osd pool create rbd 8 >&2
ceph osd pool application enable rbd rbd >&2
ceph osd pool create files.meta 8 >&2
ceph osd pool create files.data 8 >&2
ceph fs new files files.meta files.data >&2
ceph-mds --foreground --id a >mds.out 2>&1 &
until_done sh -c 'ceph mds stat | grep -q :active'
echo ready
wait
