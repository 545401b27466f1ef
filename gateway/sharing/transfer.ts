import { clusterOf } from '../../src/api/ids.ts';
import { invalidProblem, preconditionProblem, Problem } from '../../src/api/problem.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { requireUsable } from '../pools/choice.ts';
import type { Reader, Sql } from '../store.ts';
import { findAttachments, findSomeAttachments, nodeName } from '../tables/attachments.ts';
import { requireInService } from '../tables/closures.ts';
import { moveReservation } from '../tables/reservations.ts';
import { transferName, wasTransferred } from '../tables/audit-log.ts';
import { removeCopyGrants } from '../tables/copy-grants.ts';
import { findSomeGrants, removeGrants } from '../tables/grants.ts';
import { findAtStorage, findVolume, type VolumeRecord, volumeTable } from '../tables/volumes.ts';
import { requireReadyVolume } from '../volumes/record.ts';
import { createRoomMaker } from '../volumes/deletion/leave.ts';
import { requireUnneeded } from '../volumes/sources.ts';
import type { Cluster } from '../callers/cluster.ts';
import { requireQuota } from '../pools/quotas.ts';
import { requireAll, unlessShort, whileShort } from '../pools/room.ts';
import type { Detacher } from './grants.ts';

export type Transfers = ReturnType<typeof createTransfer>;

/** A volume and its next owner. The volume keeps its name unless another is given. */
type TransferRequest = {
  readonly volumeId: string;
  readonly to: Cluster;
  readonly name?: string | undefined;
  /** False: a volume that is attached to a node is not transferred. By default it is detached first. */
  readonly mayDetach?: boolean;
};

type VolumeMove = { readonly before: VolumeRecord; readonly after: VolumeRecord };

/**
 * Creates the transfer of a volume to another cluster, under an id of that cluster. The data stay in place, and
 * the storage keeps its id. The volume is first detached from every node; then its record moves in one
 * transaction, so that at any time exactly one of the clusters has it. A transfer that is not possible is
 * refused before anything is detached.
 */
export function createTransfer(
  options: Pick<ServiceOptions, 'engine' | 'pools' | 'operations'>,
  detach: Detacher,
) {
  const { engine, operations } = options;

  async function move(request: TransferRequest, id: string): Promise<VolumeRecord> {
    const { volumeId } = request;
    return operations.run<VolumeMove, void, VolumeRecord>({
      operation: transferName,
      subject: { id },
      about: id,
      claims: [
        { kind: 'volume', id: volumeId },
        { kind: 'volume', id },
      ],
      async intend(sql) {
        const intent = await plan(sql, request, id);
        const where = await findNodeName(sql, intent.before);
        if (where === undefined) return { intent };
        throw new Problem(
          'ABORTED',
          `volume "${volumeId}" was attached to node ${where} meanwhile; try again`,
        );
      },
      act: async () => {},
      async succeed(sql, { intent: { before, after } }) {
        await requireUsableOwner(sql, request.to, before);
        // A grant that was made since must not disappear silently.
        await requireUnshared(sql, request);
        await removeGrants(sql, before);
        await removeCopyGrants(sql, { kind: 'volume', id: before.id });
        await moveReservation(sql, before, after);
        await volumeTable.remove(sql, before);
        await volumeTable.add(sql, after);
        return after;
      },
      fail: async () => {},
    });
  }

  async function detachAndMove(request: TransferRequest, id: string): Promise<VolumeRecord> {
    const { volumeId } = request;
    const logged = { operation: transferName, kind: 'volume', id: volumeId, about: id } as const;
    await operations.change(logged, async sql => {
      // Under both locks, an operation that creates the other id has either recorded it with its reservation,
      // or not begun.
      for (const each of [volumeId, id]) await sql.lock('volume', each);
      const { before } = await plan(sql, request, id);
      await requireUsableOwner(sql, request.to, before);
      return { result: undefined, isChanged: false };
    });
    if (request.mayDetach !== false)
      for (const attachment of await findAttachments(engine.reader, volumeId)) await detach(attachment);
    return move(request, id);
  }

  async function transfer(request: TransferRequest): Promise<VolumeRecord> {
    const { volumeId } = request;
    const id = toNewId(request);
    const { reader } = engine;
    const done = (await findVolume(reader, volumeId)) ? undefined : await findDone(reader, volumeId, id);
    if (done) return done;
    try {
      return await whileShort(() => detachAndMove(request, id), createRoomMaker(options));
    } catch (error) {
      if ((error as Problem).code !== 'NOT_FOUND') throw error;
      // An equal call may have done it meanwhile.
      const doneMeanwhile = await findDone(reader, volumeId, id);
      if (!doneMeanwhile) throw error;
      return doneMeanwhile;
    }
  }

  return {
    transfer,
    /** Returns the record as it would be, or throws why the transfer is not possible. Changes nothing. */
    async foresee(request: TransferRequest): Promise<VolumeRecord> {
      return engine.transaction(async sql => {
        const { before, after } = await plan(sql, request, toNewId(request));
        await requireUsableOwner(sql, request.to, before).catch(unlessShort);
        return after;
      });
    },
  };
}

/** Makes the id in the next cluster. INVALID_ARGUMENT when the name cannot be used there. */
function toNewId({
  volumeId,
  to,
  name = volumeId.slice(volumeId.indexOf('.') + 1),
}: TransferRequest): string {
  const id = `${to.name}.${name}`;
  if (clusterOf(id) === to.name) return id;
  throw invalidProblem(
    `"${id}" is not a valid volume id; give the volume another name for cluster "${to.name}"`,
  );
}

async function findDone(sql: Reader, volumeId: string, id: string): Promise<VolumeRecord | undefined> {
  return (await wasTransferred(sql, volumeId, id)) ? findVolume(sql, id) : undefined;
}

/**
 * Returns the record before and after. Throws if the transfer is not possible; because of attachments only if they may
 * not be detached. It does not compare the quota.
 */
async function plan(sql: Sql, { volumeId, to, mayDetach }: TransferRequest, id: string): Promise<VolumeMove> {
  const before = await requireReadyVolume(sql, volumeId);
  if (mayDetach === false) await requireDetached(sql, before);
  const { pool, pending, storageId = volumeId, shared } = before;
  const named = `volume "${volumeId}"`;
  if (before.cluster === to.name) throw invalidProblem(`${named} already belongs to cluster "${to.name}"`);
  requireUsable(to, pool);
  const unfinished = Object.keys(pending).filter(name => pending[name as keyof typeof pending]);
  if (unfinished.length > 0)
    throw new Problem('ABORTED', `${named} is not ready: ${unfinished.join(', ')} pending`);
  if (shared) await requireUnshared(sql, { volumeId, to });
  await requireUnneeded(sql, { kind: 'volume', id: volumeId });
  const taken = (await volumeTable.find(sql, { id })) ?? (await findAtStorage(sql, id));
  if (taken && taken.id !== volumeId)
    throw new Problem('ALREADY_EXISTS', `"${id}" is the id of another volume; give it another name`);
  const moved = { cluster: to.name, shared: false, storageId: storageId === id ? undefined : storageId };
  return { before, after: { ...before, id, ...moved } };
}

/** Names a node that the volume is attached to; undefined if there is none. */
async function findNodeName(sql: Reader, volume: VolumeRecord): Promise<string | undefined> {
  const [attached] = await findSomeAttachments(sql, volume.id, 1);
  return attached && nodeName(attached, volume);
}

/** Throws FAILED_PRECONDITION, which names a node, while the volume is attached. */
async function requireDetached(sql: Reader, volume: VolumeRecord): Promise<void> {
  const where = await findNodeName(sql, volume);
  if (where === undefined) return;
  throw preconditionProblem(
    `volume "${volume.id}" is attached to node ${where}; delete the pods that use it`,
  );
}

/** Throws FAILED_PRECONDITION while the volume is shared with a cluster other than its next owner. */
async function requireUnshared(sql: Sql, { volumeId, to }: TransferRequest): Promise<void> {
  const [one, another] = await findSomeGrants(sql, volumeId, 2);
  const other = one?.cluster === to.name ? another : one;
  if (!other) return;
  throw preconditionProblem(
    `volume "${volumeId}" is shared with cluster "${other.cluster}"; revoke that grant first`,
  );
}

/** Throws when the next owner is retired, or when its quota is too small for the volume. */
async function requireUsableOwner(
  sql: Sql,
  to: Cluster,
  { nonce, pool, reservedBytes: bytes }: VolumeRecord,
): Promise<void> {
  await requireAll([
    requireInService(sql, to.name, nonce),
    requireQuota(sql, to, { pool, nonce, bytes, volumes: 1 }),
  ]);
}
