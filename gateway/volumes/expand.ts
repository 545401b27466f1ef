import { encryptionOf } from '../../src/api/filesystems.ts';
import { Problem, unavailableProblem } from '../../src/api/problem.ts';
import type { SizeSpec, Volume } from '../../src/api/volume.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { ExpandedVolume, SizeBounds } from '../backend.ts';
import type { Cluster } from '../callers/cluster.ts';
import { requireOwner } from '../callers/access.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { requireOffered } from '../pools/features.ts';
import { requireQuota } from '../pools/quotas.ts';
import { requireAll } from '../pools/room.ts';
import { measureSpaces, requireSpace } from '../pools/space.ts';
import { findVolume, type VolumeRecord } from '../tables/volumes.ts';
import { filesystemOf, neededBytesOf, requireReach } from './filesystem.ts';
import { runChange, toKnownVolume } from './record.ts';
import { showVolume } from './show.ts';
import { chooseSize, isWithin, requireRange } from './size.ts';
import { createRoomMaker } from './deletion/leave.ts';

/**
 * Creates the expansion of volumes to a size within bounds. A volume that has such a size stays as it is. A volume never
 * shrinks.
 */
export function createExpand(options: ServiceOptions) {
  const { engine, pools, operations } = options;
  const expandIn = (name: string) =>
    requireOffered(pools.get(name), pools.get(name).backend.expand, 'expansion of volumes');
  const chooseGrownSize = ({ pool, spec }: VolumeRecord, target: SizeBounds) => {
    const { backend } = pools.get(pool);
    return chooseSize(target, backend.sizes, neededBytesOf(backend, spec));
  };
  const filesystemOn = (volume: VolumeRecord) =>
    pools.get(volume.pool).backend.areShares ? undefined : filesystemOf(volume);

  return async (cluster: Cluster, id: string, spec: SizeSpec): Promise<Volume> => {
    await requireOwner(engine.reader, cluster, id);
    requireRange(spec);
    const { requiredBytes = 0, limitBytes = 0 } = spec;
    const target = { requiredBytes, limitBytes };
    const known = await findVolume(engine.reader, id);
    const logged = { operation: 'expand', kind: 'volume', id } as const;
    const spaces =
      known &&
      (await operations.prepare(logged, known.pool, async () => measureSpaces(pools.get(known.pool))));
    const grown = await runChange<'expansion', ExpandedVolume>(operations, id, {
      kind: 'expansion',
      operation: 'expand',
      subject: target,
      async begin(volume, sql) {
        const { nonce, pool: name, sizeBytes, reservedBytes: heldBytes, segments, pending } = volume;
        const pool = pools.get(name);
        if (sameJson(pending.expansion, target)) return { target };
        expandIn(name);
        if (sizeBytes >= requiredBytes) return undefined;
        const bytes = Math.max(heldBytes, chooseGrownSize(volume, target));
        requireReach(filesystemOn(volume), volume.spec.parameters, {
          fromBytes: sizeBytes,
          toBytes: bytes,
        });
        const topologies = segments && [segments];
        await requireAll([
          requireSpace(sql, { pool, spaces }, { bytes, heldBytes, nonce, topologies }),
          requireQuota(sql, cluster, { pool: name, nonce, bytes: bytes - heldBytes }),
        ]);
        return { target, reservedBytes: bytes };
      },
      async act(volume) {
        const bounds = { requiredBytes: chooseGrownSize(volume, target), limitBytes };
        const expanded = await expandIn(volume.pool)(toKnownVolume(volume), bounds);
        requireGrown(volume, requiredBytes, expanded);
        return expanded;
      },
      makeRoom: createRoomMaker(options),
      changed: ({ spec: { parameters } }, { sizeBytes, nodeExpansionRequired }) => ({
        sizeBytes,
        reservedBytes: sizeBytes,
        nodeExpansionRequired: nodeExpansionRequired || encryptionOf(parameters) !== undefined,
      }),
    });
    if (isWithin(grown.sizeBytes, { limitBytes })) return showVolume(options, grown);
    throw new Problem(
      'OUT_OF_RANGE',
      `volume "${id}" has ${grown.sizeBytes} bytes, more than the limit of ${limitBytes}`,
    );
  };
}

/** Refuses an answer that reports less than the volume had or the request needs. */
function requireGrown({ id, sizeBytes }: VolumeRecord, requiredBytes: number, grown: ExpandedVolume): void {
  if (isWithin(grown.sizeBytes, { requiredBytes: Math.max(sizeBytes, requiredBytes) })) return;
  throw unavailableProblem(
    `the storage expanded volume "${id}" to ${grown.sizeBytes} bytes, less than requested`,
  );
}
