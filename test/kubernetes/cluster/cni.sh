#!/bin/sh
# A small network plugin for the pods of the tests. Its name decides its work: "loopback" sets up lo, "ptp" joins a pod to
# its node by a pair of interfaces. The file "subnet" beside it holds the first three numbers of the node's pod addresses.
# The directory "addresses" has one directory per used address, with the pod's id.
set -eu
here=$(dirname "$0")
type=$(basename "$0")
subnet=$(cat "$here/subnet")
pod=${CNI_NETNS:-}
pod=${pod##*/}

main() {
  case $CNI_COMMAND in
  ADD) "add_$type" ;;
  DEL) "remove_$type" ;;
  VERSION) echo '{"cniVersion":"1.0.0","supportedVersions":["0.3.1","0.4.0","1.0.0"]}' ;;
  esac
}

add_loopback() {
  ip -n "$pod" link set lo up
  answer lo 127.0.0.1/8
}

remove_loopback() { :; }

add_ptp() {
  reserve
  ip link add "pod$number" type veth peer name "$CNI_IFNAME" netns "$pod"
  ip -n "$pod" address add "$subnet.$number/32" dev "$CNI_IFNAME"
  ip -n "$pod" link set "$CNI_IFNAME" up
  ip -n "$pod" route add "$subnet.1" dev "$CNI_IFNAME" scope link
  ip -n "$pod" route add default via "$subnet.1"
  ip address add "$subnet.1/32" dev "pod$number"
  ip link set "pod$number" up
  ip route add "$subnet.$number/32" dev "pod$number"
  answer "$CNI_IFNAME" "$subnet.$number/32"
}

# Succeeds for a pod that was never added or is already removed.
remove_ptp() {
  for address in "$here"/addresses/*; do
    read -r owner 2>/dev/null <"$address/pod" || continue
    [ "$owner" = "$CNI_CONTAINERID" ] || continue
    ip link delete "pod${address##*/}" 2>/dev/null || true
    rm -r -- "$address"
  done
}

# Making a directory succeeds for one caller only. The shell itself skips taken addresses, so many of them cost no processes.
reserve() {
  number=2
  until [ ! -e "$here/addresses/$number" ] && mkdir "$here/addresses/$number" 2>/dev/null; do
    number=$((number + 1))
    [ "$number" -le 254 ] || fail 'no address is free'
  done
  echo "$CNI_CONTAINERID" >"$here/addresses/$number/pod"
}

answer() {
  cat <<END
{
  "cniVersion": "1.0.0",
  "interfaces": [{ "name": "$1", "sandbox": "$CNI_NETNS" }],
  "ips": [{ "interface": 0, "address": "$2" }]
}
END
}

fail() {
  echo "{\"cniVersion\":\"1.0.0\",\"code\":11,\"msg\":\"$1\"}"
  exit 1
}

main
