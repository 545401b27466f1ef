import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { packagesOf } from '../packages.ts';
import { joinNetwork } from '../vm/fleet/peer.ts';
import { loadTarget } from '../vm/targets/configfs.ts';
import { startDaemons } from '../vm/targets/scsi-target.ts';
import { lvm } from '../vm/targets/thin-pool.ts';

/** Gives this virtual machine the volume group of `cinder.sh`, and runs the commands of Cinder's driver. */
export async function openVolumes(): Promise<void> {
  joinNetwork();
  // The target's second portal.
  execFileSync('ip', ['address', 'add', '10.0.2.16/24', 'dev', 'eth0']);
  const packages = `lowerdir=${packagesOf('cinder')}/usr:/usr`;
  execFileSync('mount', ['-t', 'overlay', '-o', packages, 'overlay', '/usr']);
  // Without udev nothing else loads the module of SCSI disks. A disk in memory takes only the memory that is written.
  execFileSync('modprobe', ['-a', 'sd_mod', 'dm_thin_pool']);
  execFileSync('modprobe', ['brd', 'rd_nr=1', `rd_size=${20 * 2 ** 20}`]);
  loadTarget('target_core_mod', 'target_core_iblock', 'iscsi_target_mod');
  await startDaemons();
  lvm('vgcreate', 'cinder-volumes', '/dev/ram0');
  // Cinder's program keeps the configuration of the target here.
  mkdirSync('/etc/rtslib-fb-target');
  const server = fileURLToPath(new URL('command-server.py', import.meta.url));
  spawn('/usr/bin/python3', [server], { stdio: 'inherit' });
}
