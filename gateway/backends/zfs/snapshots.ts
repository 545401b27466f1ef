import * as z from 'zod';
import type { CreatedSnapshot, NewSnapshot, Snapshots } from '../../backend.ts';
import { createAsGroup } from '../../local/copies.ts';
import type { Deletion } from './deletion.ts';
import { nameOf, recordOptions } from './names.ts';
import type { PoolReport, ZfsPool, Zvol } from './pool.ts';

/** Manages the snapshots of a pool. One command takes all members of a group, and ZFS takes them at one instant. */
export function createSnapshots(pool: ZfsPool, deletion: Deletion): Required<Snapshots> {
  async function createGroup(members: readonly NewSnapshot[]): Promise<readonly CreatedSnapshot[]> {
    const report = await pool.report();
    const made = findAll(report, members);
    if (made.length === members.length) return made.map(toCreated);
    // Members that are left from another try are of another time.
    for (const member of made) await deletion.snapshot({ id: member.record?.id ?? '' });
    await takeTogether(pool, report, members);
    const taken = findAll(await pool.report(), members);
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

async function takeTogether(
  pool: ZfsPool,
  report: PoolReport,
  members: readonly NewSnapshot[],
): Promise<void> {
  const ids = members.map(({ id }) => id);
  const paths = members.map(
    ({ id, volume }) => `${report.requireEntry('volume', volume).path}@${nameOf('snapshot', id)}`,
  );
  const record = recordOptions('snapshot', members[0]?.nonce ?? '', ids);
  await pool.change(['snapshot', ...record, ...paths], `take snapshot "${ids.join('", "')}"`);
}

function toCreated({ sizeBytes, createdAtMs, referencedBytes: reservedBytes }: Zvol): CreatedSnapshot {
  return { sizeBytes, createdAtMs, ready: true, reservedBytes };
}
