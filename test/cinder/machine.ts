import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { joinNetwork } from '../vm/fleet/peer.ts';
import { loadTarget } from '../vm/targets/configfs.ts';
import { startDaemons } from '../vm/targets/scsi-target.ts';
import { packagesOf } from '../packages.ts';

const disk = '/scratch/disk';
const run = (command: string, ...args: readonly string[]): string => execFileSync(command, args).toString();

/** Gives this virtual machine the volumes of `cinder.sh`, and the program that runs the commands of Cinder's driver. */
export async function openVolumes(): Promise<void> {
  joinNetwork();
  // The target's second portal.
  run('ip', 'address', 'add', '10.0.2.16/24', 'dev', 'eth0');
  run('mount', '-t', 'overlay', '-o', `lowerdir=${packagesOf('cinder')}/usr:/usr`, 'overlay', '/usr');
  // Without udev nothing else loads the module of SCSI disks.
  run('modprobe', '-a', 'sd_mod', 'dm_thin_pool');
  loadTarget('target_core_mod', 'target_core_iblock', 'iscsi_target_mod');
  await startDaemons();
  writeFileSync(disk, '');
  truncateSync(disk, 20 * 2 ** 30);
  run('vgcreate', 'cinder-volumes', run('losetup', '--find', '--show', disk).trim());
  // Cinder's program keeps the configuration of the target here.
  mkdirSync('/etc/rtslib-fb-target', { recursive: true });
  const commands = fileURLToPath(new URL('commands.py', import.meta.url));
  spawn('/usr/bin/python3', [commands], { stdio: 'inherit' });
}
