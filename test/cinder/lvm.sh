#!/bin/sh
# Runs Cinder's driver for LVM on a machine of its own, which exports volumes over iSCSI: lvm.sh PACKAGES HOST. Cinder's
# other services are at the address HOST. Prints "ready" on standard output, and runs until it is killed.
set -eu
. "$(dirname "$0")/settings.sh"
mount -t overlay overlay -o "ro,lowerdir=$1/usr:/usr" /usr
modprobe -a dm_thin_pool configfs target_core_mod target_core_iblock iscsi_target_mod
mount -t configfs none /sys/kernel/config
mkdir -p /scratch/cinder/state /scratch/cinder/run /etc/rtslib-fb-target
cd /scratch/cinder
truncate -s 20G disk
vgcreate --quiet cinder-volumes "$(losetup --find --show disk)" >&2
settings "$2" >cinder.conf
cat >>cinder.conf <<END
[DEFAULT]
enabled_backends = lvm
[cinder_sys_admin]
helper_command = privsep-helper --config-file $PWD/cinder.conf
[privsep_osbrick]
helper_command = privsep-helper --config-file $PWD/cinder.conf
[lvm]
volume_driver = cinder.volume.drivers.lvm.LVMVolumeDriver
volume_backend_name = lvm
volume_group = cinder-volumes
lvm_type = thin
lvm_conf_file = none
target_helper = lioadm
target_protocol = iscsi
target_ip_address = 127.0.0.1
iscsi_secondary_ip_addresses = 127.0.0.2
use_chap_auth = true
max_over_subscription_ratio = 1000
suppress_requests_ssl_warnings = true
END
cinder-volume --config-file "$PWD/cinder.conf" >volume.out 2>&1 &
until grep -qs 'Driver post RPC initialization completed successfully' *.log; do
  kill -0 $! || { cat volume.out >&2; exit 1; }
  sleep 1
done
echo ready
wait
