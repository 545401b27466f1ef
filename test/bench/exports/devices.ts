import { execFile, execFileSync } from 'node:child_process';
import { constants, openSync, write } from 'node:fs';
import { promisify } from 'node:util';
import { newSnapshot } from '../../suites/backend-fixtures.ts';
import { startGuestNode } from '../../vm/guest/agent.ts';
import { loadZfs, makeDataset } from '../../vm/targets/dataset.ts';
import { accessOf, openExportedPool, type PoolPlace } from '../../vm/targets/exported.ts';
import { makeThinPool } from '../../vm/targets/thin-pool.ts';
import type { CleanupScope } from '../../vm/targets/undo.ts';
import { timeAlternately, type Figure } from '../figure.ts';

/** A kind of volumes that are devices. */
export type DeviceKind = {
  readonly name: string;
  makePlace(t: CleanupScope): PoolPlace;
  /** The command that takes a snapshot, as users know it, and its words for the volume with this device. */
  readonly command: string;
  takeByHand(path: string, name: string): readonly [string, ...string[]];
};

const run = promisify(execFile);

/** Room for each snapshot's own blocks. */
const sizeMiB = 1_024;

export const thinVolume: DeviceKind = {
  name: 'thin volume',
  makePlace: t => makeThinPool(t, { sizeMiB }),
  command: 'lvcreate --snapshot',
  takeByHand: (path, name) => ['lvm', 'lvcreate', '--snapshot', '--name', name, path.slice('/dev/'.length)],
};

export const zvol: DeviceKind = {
  name: 'zvol',
  makePlace(t) {
    loadZfs();
    return makeDataset(t, { sizeMiB });
  },
  command: 'zfs snapshot',
  takeByHand: (path, name) => ['zfs', 'snapshot', `${path.slice('/dev/zvol/'.length)}@${name}`],
};

/** Measures alternately attach and detach of a device and of an image. */
export async function measureDeviceAttach(t: CleanupScope, kind: DeviceKind): Promise<readonly Figure[]> {
  const rounds = 30;
  const protocol = 'nvme-tcp';
  const device = await openAttached(t, kind.makePlace(t));
  const image = await openAttached(t);
  const times = await timeAlternately(rounds, {
    attach: device.attach,
    detach: device.detach,
    attachImage: image.attach,
    detachImage: image.detach,
  });
  const figureOf = (name: 'attach' | 'detach', floor: number): Figure => ({
    name: `${name} a ${kind.name} over ${protocol}`,
    value: times[name],
    unit: 'ms',
    floor: ['the same of an image', floor],
    target: 'not slower',
  });
  return [figureOf('attach', times.attachImage), figureOf('detach', times.detachImage)];
}

/** Opens a pool with a volume, which was attached once so that shared objects, such as a port, exist. */
async function openAttached(t: CleanupScope, place?: PoolPlace) {
  const pool = await openExportedPool(t, 'nvme-tcp', place);
  const volume = await pool.makeVolume('c.one', 1);
  const attach = (): Promise<unknown> => pool.attach(volume, accessOf('n1'));
  const detach = (): Promise<unknown> => pool.backend.detach(volume, 'n1', 'c');
  await attach();
  await detach();
  return { attach, detach };
}

/** A small volume and a large one, each with its data before the first snapshot. */
const sizes = [
  { name: '1 GiB', sizeMiB: 1_024, filledMiB: 8 },
  { name: '64 GiB', sizeMiB: 65_536, filledMiB: 64 },
] as const;

/** Measures alternately snapshots of two volumes while a node writes to them, and the command alone. */
export async function measureSnapshots(t: CleanupScope, kind: DeviceKind): Promise<readonly Figure[]> {
  const rounds = 7;
  const pool = await openExportedPool(t, 'nvme-tcp', kind.makePlace(t));
  const node = await startGuestNode(t);
  const [small, large] = await Array.fromAsync(sizes, async size => {
    const volume = await pool.makeVolume(`c.${size.name.replace(' ', '-')}`, size.sizeMiB);
    const { attachment, secrets } = await pool.attach(volume, accessOf('n1', 'block'));
    const capability = { block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } } as const;
    const fields = { ...node.volumeAt({ name: volume.id, attachment, capability }), secrets };
    await node.bringUp(fields);
    const fill = ['bs=1M', `count=${size.filledMiB}`, 'oflag=direct', 'status=none'];
    execFileSync('dd', ['if=/dev/zero', `of=${fields.target_path}`, ...fill]);
    return { volume, path: fields.target_path };
  });
  if (!small || !large) throw new Error('there are two sizes');
  const stops = [small, large].map(({ path }) => startWriter(path));
  let count = 0;
  const takeOf = (volume: typeof small.volume) => () =>
    pool.backend.snapshots.create(newSnapshot(`c.s${count++}`, volume, true));
  const times = await timeAlternately(rounds, {
    small: takeOf(small.volume),
    large: takeOf(large.volume),
    byHand() {
      const [command, ...args] = kind.takeByHand(pool.pathOf(small.volume.id), `by-hand-${count++}`);
      return run(command, args);
    },
  });
  for (const stop of stops) stop();
  const figureOf = (name: string, value: number): Figure => ({
    name: `snapshot of a ${kind.name} of ${name} in use`,
    value,
    unit: 'ms',
    floor: [`${kind.command} alone`, times.byHand],
    target: '≤ 300 ms',
  });
  return [figureOf(sizes[0].name, times.small), figureOf(sizes[1].name, times.large)];
}

/** Writes fifty blocks a second past the cache. A writer without pauses would leave ZFS no time on one processor. */
function startWriter(path: string): () => void {
  const [disk, block] = [
    openSync(path, constants.O_RDWR | constants.O_DIRECT),
    Buffer.alloc(2 ** 20, 'data'),
  ];
  let count = 0;
  const timer = setInterval(() => {
    const position = (count++ % 256) * 4_096;
    write(disk, block, 0, 4_096, position, error => {
      if (error) throw error;
    });
  }, 20);
  return () => clearInterval(timer);
}
