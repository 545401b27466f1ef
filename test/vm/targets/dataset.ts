import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { undoLast, type CleanupScope } from './undo.ts';

/** A dataset of ZFS, as in the settings of a backend. */
export type DatasetName = { readonly dataset: string };

/**
 * Loads ZFS with a small cache, and starts udev, which makes the links to devices. Only the rules of ZFS apply, because
 * those of other packages start many programs for each device.
 */
export function loadZfs(): void {
  execFileSync('modprobe', ['zfs', `zfs_arc_max=${2 ** 27}`]);
  if (existsSync('/run/udev/control')) return;
  const rules = '/usr/lib/udev/rules.d';
  const own = readFileSync(`${rules}/60-zvol.rules`);
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', rules]);
  writeFileSync(`${rules}/60-zvol.rules`, own);
  execFileSync('/usr/lib/systemd/systemd-udevd', ['--daemon']);
}

/** Makes a pool with a dataset on a disk of its own, or on several as raidz; all are removed when the test ends. */
export function makeDataset(t: CleanupScope, { sizeMiB = 768, raidzDisks = 0 } = {}): DatasetName {
  const directory = mkdtempSync(join(tmpdir(), 'zfs-'));
  const pool = basename(directory);
  const disks = Array.from({ length: Math.max(raidzDisks, 1) }, (_, index) =>
    join(directory, `disk${index}`),
  );
  for (const disk of disks) {
    writeFileSync(disk, '');
    truncateSync(disk, sizeMiB * 2 ** 20);
  }
  const layout = raidzDisks > 0 ? ['raidz', ...disks] : disks;
  execFileSync('zpool', ['create', '-o', 'ashift=12', '-O', 'mountpoint=none', pool, ...layout]);
  undoLast(t, () => {
    execFileSync('zpool', ['destroy', '-f', pool]);
    execFileSync('rm', ['-r', '--', directory]);
  });
  zfs('create', `${pool}/fairlead`);
  return { dataset: `${pool}/fairlead` };
}

/** Makes a zvol of a mebibyte, and waits for its device. */
export function makeZvol({ dataset }: DatasetName, name: string): string {
  zfs('create', '-s', '-V', '1M', `${dataset}/${name}`);
  execFileSync('udevadm', ['settle']);
  return `/dev/zvol/${dataset}/${name}`;
}

/** Runs a command of ZFS, and returns its output. */
export function zfs(...args: readonly string[]): string {
  return execFileSync('zfs', args, { encoding: 'utf8' });
}

/** Lists the names of the volumes and snapshots below a dataset. */
export function namesIn({ dataset }: DatasetName): readonly string[] {
  return zfs('list', '-H', '-r', '-t', 'volume,snapshot', '-o', 'name', dataset)
    .split('\n')
    .filter(Boolean)
    .map(name => name.slice(dataset.length + 1));
}

/** Removes everything below a dataset. */
export function removeVolumes({ dataset }: DatasetName): void {
  execFileSync('udevadm', ['settle']);
  for (const name of namesIn({ dataset }))
    if (!name.includes('@') && namesIn({ dataset }).includes(name))
      zfs('destroy', '-R', `${dataset}/${name}`);
}
