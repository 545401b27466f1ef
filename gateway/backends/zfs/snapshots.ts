import * as z from 'zod';
import type { CreatedSnapshot, NewSnapshot, Snapshots } from '../../backend.ts';
import { createAsGroup } from '../../local/copies.ts';
import type { Deletion } from './deletion.ts';
import { nameOf, recordOptions } from './names.ts';
import type { PoolReport, ZfsPool, Zvol } from './pool.ts';

/** Manages the snapshots of a pool. One command takes all members of a group, and ZFS takes them at one instant. */
export function createSnapshots(pool: ZfsPool, deletion: Deletion): Required<Snapshots> {
  async function createGroup(members: readonly NewSnapshot[]): Promise<readonly CreatedSnapshot[]> {
    if (!(await takeKnown(pool, members))) {
      const report = await pool.report();
      const made = findAll(report, members);
      if (made.length === members.length) return made.map(toCreated);
      for (const { volume } of members) report.requireEntry('volume', volume);
      // Members that are left from another try are of another time.
      for (const member of made) await deletion.snapshot({ id: member.record?.id ?? '' });
      await takeTogether(pool, members);
    }
    const taken = findAll(await pool.reportOf(pathsOf(pool, members)), members);
    if (taken.length < members.length)
      throw new Error('a snapshot was removed while its group was being created');
    return taken.map(toCreated);
  }

  return {
    parameters: z.strictObject({}),
    createGroup,
    create: createAsGroup(createGroup),
    measure: async volume => (await pool.report()).requireEntry('volume', volume).referencedBytes,
    delete: snapshot => deletion.snapshot(snapshot),
    async *list() {
      yield* (await pool.report()).ids('snapshot');
    },
  };
}

function findAll(report: PoolReport, members: readonly NewSnapshot[]): readonly Zvol[] {
  return members.flatMap(({ id, nonce }) => report.findMade('snapshot', { id, nonce }) ?? []);
}

/**
 * Takes snapshots of volumes whose disks are known, which needs no report before: ZFS takes none if a name is in use.
 * False when nothing may have been taken.
 */
async function takeKnown(pool: ZfsPool, members: readonly NewSnapshot[]): Promise<boolean> {
  if (members.some(({ volume }) => !pool.known.find(volume))) return false;
  return takeTogether(pool, members).then(
    () => true,
    () => false,
  );
}

async function takeTogether(pool: ZfsPool, members: readonly NewSnapshot[]): Promise<void> {
  const ids = members.map(({ id }) => id);
  const record = recordOptions('snapshot', members[0]?.nonce ?? '', ids);
  const work = `take snapshot "${ids.join('", "')}"`;
  await pool.change(['snapshot', ...record, ...pathsOf(pool, members)], work);
}

function pathsOf(pool: ZfsPool, members: readonly NewSnapshot[]): readonly string[] {
  return members.map(
    ({ id, volume }) => `${pool.pathOf(nameOf('volume', volume.id))}@${nameOf('snapshot', id)}`,
  );
}

function toCreated({ sizeBytes, createdAtMs, referencedBytes: reservedBytes }: Zvol): CreatedSnapshot {
  return { sizeBytes, createdAtMs, ready: true, reservedBytes };
}
