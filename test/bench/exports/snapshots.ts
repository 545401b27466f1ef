import { execFile } from 'node:child_process';
import { write, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import type { KnownVolume } from '../../../gateway/backend.ts';
import { newSnapshot } from '../../suites/backend-fixtures.ts';
import { MiB, startGuestNode } from '../../vm/guest/agent.ts';
import { accessOf, openExportedPool } from '../../vm/targets/exported.ts';
import type { CleanupScope } from '../../vm/targets/undo.ts';
import { timeAlternately, type Figure } from '../figure.ts';
import type { DeviceKind } from './devices.ts';
import { bringUpDisk } from './io.ts';

const run = promisify(execFile);
const rounds = 7;

/** A small volume and a large one, each with its data before the first snapshot. */
const sizes = [
  { name: '1 GiB', sizeMiB: 1_024, filledMiB: 8 },
  { name: '64 GiB', sizeMiB: 65_536, filledMiB: 64 },
] as const;

/** Measures alternately snapshots of two volumes while a node writes to them, and the command alone. */
export async function measureSnapshots(t: CleanupScope, kind: DeviceKind): Promise<readonly Figure[]> {
  const pool = await openExportedPool(t, 'nvme-tcp', kind.makePlace(t));
  const node = await startGuestNode(t);
  const [small, large] = await Array.fromAsync(sizes, async ({ name, sizeMiB, filledMiB }) => {
    const volume = await pool.makeVolume(`c.${name.replace(' ', '-')}`, sizeMiB);
    const disk = await bringUpDisk(node, volume.id, await pool.attach(volume, accessOf('n1', 'block')));
    for (let index = 0; index < filledMiB; index++) writeSync(disk, block, 0, MiB, index * MiB);
    return { volume, disk };
  });
  if (!small || !large) throw new Error('there are two sizes');
  const stops = [small, large].map(({ disk }) => startWriter(disk));
  let count = 0;
  const takeOf = (volume: KnownVolume) => () =>
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

const block = Buffer.alloc(MiB, 'data');

/** Writes fifty blocks a second past the cache. A writer without pauses would leave ZFS no time on one processor. */
function startWriter(disk: number): () => void {
  let count = 0;
  const timer = setInterval(() => {
    const position = (count++ % 256) * 4_096;
    write(disk, block, 0, 4_096, position, error => {
      if (error) throw error;
    });
  }, 20);
  return () => clearInterval(timer);
}
