import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import type { Attachment } from '../../../src/api/attachment.ts';
import type { KernelExport } from '../../vm/targets/exported.ts';

const nqn = 'nqn.2014-08.org.example:by-hand';
const iqn = 'iqn.2003-01.org.example:by-hand';

/** The scripts use another port than the export, and omit the settings that only its login needs. */
const scripts: Readonly<Record<KernelExport, string>> = {
  'nvme-tcp': `
    cd /sys/kernel/config/nvmet
    if ! [ -d ports/1 ]; then
      mkdir ports/1
      echo ipv4 > ports/1/addr_adrfam; echo tcp > ports/1/addr_trtype
      echo 127.0.0.1 > ports/1/addr_traddr; echo 4421 > ports/1/addr_trsvcid
    fi
    mkdir subsystems/${nqn}-$2 subsystems/${nqn}-$2/namespaces/1
    echo 1 > subsystems/${nqn}-$2/attr_allow_any_host
    cd subsystems/${nqn}-$2/namespaces/1
    printf %s "$0" > device_path; echo "$3" > device_uuid; echo 1 > enable
    cd /sys/kernel/config/nvmet/ports/1
    ln -s ../../subsystems/${nqn}-$2 subsystems/${nqn}-$2`,
  iscsi: `
    store=/sys/kernel/config/target/core/fileio_1/by-hand-$2
    group=/sys/kernel/config/target/iscsi/${iqn}-$2/tpgt_1
    mkdir -p "$store"
    printf %s "fd_dev_name=$0,fd_dev_size=$1,fd_buffered_io=1" > "$store/control"
    echo 1 > "$store/enable"; echo "$2" > "$store/wwn/vpd_unit_serial"
    mkdir -p "$group/lun/lun_0"
    ln -s "$store" "$group/lun/lun_0/store"
    cd "$group/attrib"
    echo 0 > authentication; echo 1 > generate_node_acls; echo 1 > cache_dynamic_acls; echo 0 > demo_mode_write_protect
    mkdir "$group/np/127.0.0.1:3261"
    echo 1 > "$group/enable"`,
};

/** Configures a kernel target over a file or device as its documentation says, and returns its attachment. */
export function makeTargetByHand(protocol: KernelExport, path: string, sizeBytes: number): Attachment {
  const serial = createHash('sha256').update(path).digest('hex').slice(0, 32);
  const uuid = serial.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  execFileSync('sh', ['-ec', scripts[protocol], path, String(sizeBytes), serial, uuid]);
  const wwid = protocol === 'iscsi' ? `naa.6001405${serial.slice(0, 25)}` : `uuid.${uuid}`;
  const all = { attachmentId: 'by-hand', sizeBytes, readonly: false, mayFormat: false, wwid };
  if (protocol === 'iscsi')
    return { ...all, protocol, portals: ['127.0.0.1:3261'], target: `${iqn}-${serial}`, lun: 0 };
  const node = { hostNqn: `${nqn}-node`, hostId: 'b0b0b0b0-b0b0-40b0-80b0-b0b0b0b0b0b0' };
  return { ...all, ...node, protocol, addresses: ['127.0.0.1:4421'], subsystem: `${nqn}-${serial}` };
}
