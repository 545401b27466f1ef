import { clusterOf } from '../../src/api/ids.ts';
import { invalidProblem, preconditionProblem, Problem } from '../../src/api/problem.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { requireUsable } from '../pools/choice.ts';
import type { Reader, Sql } from '../store.ts';
import { findAttachments, nodeName } from '../tables/attachments.ts';
import { moveReservation } from '../tables/reservations.ts';
import { auditTable } from '../tables/tenancy/audit-log.ts';
import { findGrants, removeGrants } from '../tables/tenancy/grants.ts';
import { findAtStorage, findVolume, type VolumeRecord, volumeTable } from '../tables/volumes.ts';
import { requireReadyVolume } from '../volumes/record.ts';
import { requireUnneeded } from '../volumes/sources.ts';
import type { Cluster } from './cluster.ts';
import { requireQuota } from './quotas.ts';
import type { Detach } from './sharing.ts';

/** A volume, and whose it is to be; its name stays unless another is given. */
export type HandOver = {
  readonly volumeId: string;
  readonly to: Cluster;
  readonly name?: string | undefined;
};

type Moving = { readonly before: VolumeRecord; readonly after: VolumeRecord };

const handingOver = 'hand over';

/**
 * Makes what gives a volume to another cluster, under an id of that. Its data stay where they are, and the storage calls it
 * as before. It is detached from every node first; the record moves in one transaction, so that at any moment one of the two
 * clusters has it. What cannot be done is refused before anything is detached.
 */
export function createHandOver(
  { engine, operations }: Pick<ServiceOptions, 'engine' | 'operations'>,
  detach: Detach,
) {
  async function move(asked: HandOver, id: string): Promise<VolumeRecord> {
    const { volumeId } = asked;
    return operations.run<Moving, void, VolumeRecord>({
      operation: handingOver,
      subject: { id },
      about: id,
      claims: [
        { kind: 'volume', id: volumeId },
        { kind: 'volume', id },
      ],
      async intend(sql) {
        const intent = await plan(sql, asked, id);
        const [attached] = await findAttachments(sql, volumeId);
        if (!attached) return { intent };
        const where = nodeName(attached, intent.before);
        throw new Problem(
          'ABORTED',
          `volume "${volumeId}" was attached to node ${where} meanwhile; try again`,
        );
      },
      act: async () => {},
      async succeed(sql, { intent: { before, after } }) {
        await requireRoom(sql, asked.to, before);
        // What was granted since does not go without a word.
        await requireUnshared(sql, asked);
        await removeGrants(sql, before.id);
        await moveReservation(sql, before, after);
        await volumeTable.remove(sql, before);
        await volumeTable.add(sql, after);
        return after;
      },
      fail: async () => {},
    });
  }

  async function detachAndMove(asked: HandOver, id: string): Promise<VolumeRecord> {
    const { volumeId } = asked;
    const deed = { operation: handingOver, kind: 'volume', id: volumeId, about: id } as const;
    await operations.change(deed, async sql => {
      // What is about to take the other id is there, with what it reserves, or is not there at all.
      for (const each of [volumeId, id]) await sql.lock('volume', each);
      return { result: await plan(sql, asked, id), isChanged: false };
    });
    for (const attachment of await findAttachments(engine.reader, volumeId)) await detach(attachment);
    return move(asked, id);
  }

  return async (asked: HandOver): Promise<VolumeRecord> => {
    const { volumeId, to, name = volumeId.slice(volumeId.indexOf('.') + 1) } = asked;
    const id = `${to.name}.${name}`;
    if (clusterOf(id) !== to.name)
      throw invalidProblem(`"${id}" is no id: the volume needs another name at cluster "${to.name}"`);
    const { reader } = engine;
    const done = (await findVolume(reader, volumeId)) ? undefined : await findDone(reader, volumeId, id);
    if (done) return done;
    try {
      return await detachAndMove(asked, id);
    } catch (error) {
      if ((error as Problem).code !== 'NOT_FOUND') throw error;
      // Another call for the same may have done it meanwhile.
      const doneMeanwhile = await findDone(reader, volumeId, id);
      if (!doneMeanwhile) throw error;
      return doneMeanwhile;
    }
  };
}

/** Whether this was done before, and is asked for again. */
async function findDone(sql: Reader, volumeId: string, id: string): Promise<VolumeRecord | undefined> {
  // What was refused since changed nothing.
  const [last] = await auditTable.select(sql, { resource: volumeId, code: 'OK' }, 'order by id desc limit 1');
  const isDone = last?.operation === handingOver && last.about === id;
  return isDone ? findVolume(sql, id) : undefined;
}

/** The record as it is, and as it is to be; throws with what forbids that, but for attachments. */
async function plan(sql: Sql, { volumeId, to }: HandOver, id: string): Promise<Moving> {
  const before = await requireReadyVolume(sql, volumeId);
  const { pool, pending, storageId = volumeId, shared } = before;
  const named = `volume "${volumeId}"`;
  if (before.cluster === to.name) throw invalidProblem(`${named} belongs to cluster "${to.name}" already`);
  requireUsable(to, pool);
  const unfinished = Object.keys(pending).filter(what => pending[what as keyof typeof pending]);
  if (unfinished.length > 0)
    throw new Problem('ABORTED', `${named} is not ready: ${unfinished.join(', ')} pending`);
  if (shared) await requireUnshared(sql, { volumeId, to });
  await requireUnneeded(sql, { kind: 'volume', id: volumeId });
  const taken = (await volumeTable.find(sql, { id })) ?? (await findAtStorage(sql, id));
  if (taken && taken.id !== volumeId)
    throw new Problem('ALREADY_EXISTS', `"${id}" is the id of another volume; give it another name`);
  await requireRoom(sql, to, before);
  const moved = { cluster: to.name, shared: false, storageId: storageId === id ? undefined : storageId };
  return { before, after: { ...before, id, ...moved } };
}

/** FAILED_PRECONDITION while another cluster than the volume's next owner shares it. */
async function requireUnshared(sql: Sql, { volumeId, to }: HandOver): Promise<void> {
  const other = (await findGrants(sql, volumeId)).find(({ cluster }) => cluster !== to.name);
  if (!other) return;
  throw preconditionProblem(
    `volume "${volumeId}" is shared with cluster "${other.cluster}": revoke that first`,
  );
}

function requireRoom(sql: Sql, to: Cluster, { pool, reservedBytes: bytes }: VolumeRecord): Promise<void> {
  return requireQuota(sql, to, { pool, bytes, volumes: 1 });
}
