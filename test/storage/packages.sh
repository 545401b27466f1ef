#!/bin/sh
# Unpacks the storage systems of the tests and their clients below .cache/.
set -eu
cd "$(dirname "$0")/../.."
. test/unpack-packages.sh

# Ceph's manager loads all its modules, and compiles them at every start if it cannot write the results.
finish() {
  for module in alerts influx insights localpool mirroring osd_perf_query osd_support prometheus restful selftest \
    snap_schedule stats telegraf test_orchestrator zabbix; do
    rm -rf "$1/usr/share/ceph/mgr/$module"
  done
  /usr/bin/python3 -m compileall -q "$1/usr/share/ceph" "$1/usr/lib/python3" || true
}

unpack storage ceph-mon ceph-mgr ceph-mgr-modules-core ceph-osd ceph-mds ceph-fuse ceph-common \
  qemu-utils qemu-block-extra
