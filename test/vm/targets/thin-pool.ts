import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { hashOf } from '../../harness/values.ts';
import { undoLast, type CleanupScope } from './undo.ts';

/** A thin pool of LVM, as in the settings of a backend. */
export type ThinPoolName = { readonly group: string; readonly thinPool: string };

type ThinPoolOptions = { readonly sizeMiB?: number; readonly metadataMiB?: number };

/** Makes a volume group with a thin pool on a disk of its own; both are removed when the test ends. */
export function makeThinPool(
  t: CleanupScope,
  { sizeMiB = 512, metadataMiB = 16 }: ThinPoolOptions = {},
): ThinPoolName {
  const directory = mkdtempSync(join(tmpdir(), 'lvm-'));
  const disk = join(directory, 'disk');
  writeFileSync(disk, '');
  truncateSync(disk, (sizeMiB + 3 * metadataMiB) * 2 ** 20);
  const device = execFileSync('losetup', ['--find', '--show', '--', disk], { encoding: 'utf8' }).trim();
  const group = basename(directory);
  execFileSync('modprobe', ['-a', 'dm_mod', 'dm_thin_pool']);
  lvm('vgcreate', '--physicalextentsize', '1m', group, device);
  undoLast(t, () => {
    closeGates(group);
    lvm('vgremove', '--yes', '--force', group);
    lvm('pvremove', device);
    execFileSync('losetup', ['--detach', device]);
    execFileSync('rm', ['-r', '--', directory]);
  });
  return addThinPool({ group, thinPool: 'pool0' }, { sizeMiB, metadataMiB });
}

/** Makes a thin pool in a group that has room for it. */
export function addThinPool(
  { group, thinPool }: ThinPoolName,
  { sizeMiB, metadataMiB }: Required<ThinPoolOptions>,
): ThinPoolName {
  const sizes = ['--size', `${sizeMiB}m`, '--poolmetadatasize', `${metadataMiB}m`];
  const name = ['--name', thinPool, '--chunksize', '64k', '--zero', 'y'];
  lvm('lvcreate', '--yes', '--type', 'thin-pool', ...sizes, ...name, group);
  lvm('lvchange', '--errorwhenfull', 'y', `${group}/${thinPool}`);
  return { group, thinPool };
}

/** Makes an active thin volume of a mebibyte, and returns its path. */
export function makeThinVolume({ group, thinPool }: ThinPoolName, name: string): string {
  const size = ['--virtualsize', '1m', '--wipesignatures', 'n'];
  lvm('lvcreate', '--yes', '--type', 'thin', '--thinpool', thinPool, ...size, '--name', name, group);
  return `/dev/${group}/${name}`;
}

/** Runs a command of LVM, and returns its output. */
export function lvm(...args: readonly string[]): string {
  return execFileSync('lvm', args, { encoding: 'utf8' });
}

/** Returns the hash of a device's data. A target may write to the device past its page cache. */
export function hashOfDevice(path: string): string {
  execFileSync('sync');
  execFileSync('blockdev', ['--flushbufs', path]);
  return hashOf(path);
}

/** Returns the path of the gate of a thin volume, from the path of its device. */
export function gateOf(path: string): string {
  const [group = '', name = ''] = path.split('/').slice(2);
  return `/dev/mapper/${prefixOf(group)}${name.replaceAll('-', '--')}-gate`;
}

/** Returns the beginning of the names of a group's devices. */
function prefixOf(group: string): string {
  return `${group.replaceAll('-', '--')}-`;
}

/** Removes the gates of a group, because LVM removes no volume that has one. */
export function closeGates(group: string): void {
  const gates = readdirSync('/dev/mapper').filter(
    name => name.startsWith(prefixOf(group)) && name.endsWith('-gate'),
  );
  if (gates.length > 0) execFileSync('dmsetup', ['remove', '--', ...gates]);
}

/** Lists the names of the thin volumes of a pool. */
export function namesIn({ group, thinPool }: ThinPoolName): readonly string[] {
  const select = ['--select', `pool_lv=${thinPool}`, '--noheadings', '--options', 'lv_name'];
  return lvm('lvs', ...select, group)
    .split('\n')
    .map(line => line.trim())
    .filter(Boolean);
}

/** Removes all thin volumes of a pool. */
export function removeVolumes(pool: ThinPoolName): void {
  closeGates(pool.group);
  const names = namesIn(pool).map(name => `${pool.group}/${name}`);
  if (names.length > 0) lvm('lvremove', '--yes', '--force', ...names);
}
