import { invalidProblem, Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { BlockPage } from '../../src/api/snapshot.ts';
import type { Extent } from '../backend.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { requireOffered } from '../pools/features.ts';
import { type SnapshotRecord, snapshotTable, toKnownSnapshot } from '../tables/snapshots.ts';
import type { Cluster } from '../callers/cluster.ts';
import { notFoundProblem, requireOwn } from '../callers/ownership.ts';

type Query = { readonly base: string | undefined; readonly offset: number; readonly limit: number };

/** Creates the lists of the blocks of a cluster's snapshots that hold data, or that differ. */
export function createBlocks({ engine, pools }: Pick<ServiceOptions, 'engine' | 'pools'>) {
  async function requireReadySnapshot(cluster: Cluster, id: string): Promise<SnapshotRecord> {
    requireOwn(cluster, { kind: 'snapshot', id });
    const snapshot = await snapshotTable.find(engine.reader, { id });
    if (snapshot?.cluster !== cluster.name || snapshot.state === 'creating')
      throw notFoundProblem({ kind: 'snapshot', id });
    if (snapshot.state !== 'ready')
      throw new Problem('ABORTED', `snapshot "${id}" is not ready: it is ${snapshot.state}`);
    return snapshot;
  }

  return {
    /**
     * Lists the blocks that end after the offset; with `base`, only differing blocks. OUT_OF_RANGE beyond
     * the end of the snapshot.
     */
    async list(cluster: Cluster, id: string, query: Query): Promise<BlockPage> {
      const { base: baseId, offset, limit } = query;
      const target = await requireReadySnapshot(cluster, id);
      const base = baseId === undefined ? undefined : await requireReadySnapshot(cluster, baseId);
      if (base && base.volumeId !== target.volumeId)
        throw invalidProblem(
          `snapshots "${base.id}" and "${id}" are of different volumes; name two snapshots of one volume`,
        );
      requireReadable(target);
      const pool = pools.get(target.pool);
      const { allocated, changed } = requireOffered(pool, pool.backend.changes, 'changed blocks');
      const { sizeBytes } = target;
      if (offset < 0 || offset > sizeBytes)
        throw new Problem(
          'OUT_OF_RANGE',
          `offset ${offset} is outside snapshot "${id}", which has ${sizeBytes} bytes`,
        );
      const extents = base
        ? changed({ base: toKnownSnapshot(base), target: toKnownSnapshot(target) }, offset)
        : allocated(toKnownSnapshot(target), offset);
      return collect(extents, { sizeBytes, offset, limit });
    },
  };
}

/** UNIMPLEMENTED for an encrypted snapshot: nodes show its data at other offsets than the storage has them. */
function requireReadable({ id, encryption }: SnapshotRecord): void {
  if (encryption !== undefined)
    throw new Problem(
      'UNIMPLEMENTED',
      `snapshot "${id}" is encrypted ("${encryption}"), so its blocks have other offsets on a node; copy all of it`,
    );
}

/** Collects one page of blocks after the offset and within the snapshot. A list that is out of order is refused. */
async function collect(
  extents: AsyncIterable<Extent>,
  { sizeBytes, offset: from, limit }: { sizeBytes: number; offset: number; limit: number },
): Promise<BlockPage> {
  const blocks: { offset: number; length: number }[] = [];
  let end = from;
  for await (const extent of extents) {
    const offset = Math.max(extent.offset, from);
    const upTo = Math.min(extent.offset + extent.length, sizeBytes);
    if (upTo <= from) continue;
    if (blocks.length === limit) return { sizeBytes, blocks, nextOffset: end };
    if (!(offset >= end && upTo > offset))
      throw unavailableProblem(`the storage listed blocks out of order, at ${extent.offset}`);
    blocks.push({ offset, length: upTo - offset });
    end = upTo;
  }
  return { sizeBytes, blocks };
}
