import * as z from 'zod';
import type { CreatedSnapshot, NewSnapshot, Snapshots } from '../../backend.ts';
import { reservedIn, tagOptions } from './names.ts';
import type { LvmPool, ThinVolume } from './pool.ts';
import { requireVolume } from './volumes.ts';

/**
 * Manages the snapshots of a pool: inactive thin volumes that share blocks with their origin. LVM suspends the origin
 * meanwhile, so a snapshot is of one instant even while a node writes. There are no groups, because LVM takes no
 * snapshot of a volume that is suspended already.
 */
export function createSnapshots(pool: LvmPool): Required<Omit<Snapshots, 'createGroup'>> {
  return {
    parameters: z.strictObject({}),
    async create(snapshot) {
      const { id, nonce } = snapshot;
      const report = await pool.report();
      const made = report.findMade('snapshot', { id, nonce });
      if (made) return toCreated(made);
      await take(pool, snapshot, requireVolume(report, snapshot.volume));
      return toCreated(requireVolume(await pool.report(), snapshot, 'snapshot'));
    },
    measure: async volume => requireVolume(await pool.report(), volume).usedBytes,
    delete: snapshot => pool.remove('snapshot', snapshot),
    list: () => pool.list('snapshot'),
  };
}

async function take(pool: LvmPool, { id, nonce }: NewSnapshot, origin: ThinVolume): Promise<void> {
  await pool.resume([origin]);
  const tags = tagOptions('snapshot', { id, nonce, reservedBytes: origin.usedBytes });
  const options = ['--yes', '--snapshot', '--name', pool.nameOf('snapshot', id), ...tags];
  const still = ['--permission', 'r', '--setactivationskip', 'y', '--', pool.operandOf(origin.name)];
  await pool.change(['lvcreate', ...options, ...still], `take snapshot "${id}"`);
}

function toCreated({ sizeBytes, createdAtMs, tags }: ThinVolume): CreatedSnapshot {
  const reservedBytes = reservedIn(tags);
  return { sizeBytes, createdAtMs, ready: true, ...(reservedBytes !== undefined && { reservedBytes }) };
}
