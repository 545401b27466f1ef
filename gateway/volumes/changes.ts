import { encryptionOf } from '../../src/api/filesystems.ts';
import { mapByteLength } from '../../src/api/ids.ts';
import { limitProblem, limits } from '../../src/api/limits.ts';
import { Problem, problemTable, unavailableProblem } from '../../src/api/problem.ts';
import type { SizeSpec, Volume } from '../../src/api/volume.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { ExpandedVolume, SizeBounds } from '../backend.ts';
import type { Operation } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { requireOffered } from '../pools/features.ts';
import { measureSpaces, requireSpace } from '../pools/space.ts';
import type { Reader, Sql } from '../store.ts';
import { findAtStorage, findVolume, type PendingWork, type VolumeRecord } from '../tables/volumes.ts';
import type { Cluster } from '../callers/cluster.ts';
import { requireOwner } from '../callers/access.ts';
import { requireQuota } from '../pools/quotas.ts';
import { filesystemOf, neededBytesOf, requireReach } from './filesystem.ts';
import { changeVolume, requireReadyVolume, requireVolumeSize, toKnownVolume } from './record.ts';
import { showVolume } from './show.ts';
import { chooseSize, isWithin, requireRange } from './size.ts';
import { readParameters } from './validate.ts';

type Parameters = Readonly<Record<string, string>>;
type ChangeKind = keyof PendingWork;

/** A change of a ready volume. It stays pending until it is done or finally refused. */
type Change<K extends ChangeKind, Effect> = {
  readonly kind: K;
  readonly operation: string;
  readonly subject: object;
  /**
   * Plans the change beside earlier pending work, and its reservation. Undefined: the volume is already as
   * requested.
   */
  begin(volume: VolumeRecord, sql: Sql): Promise<PlannedChange<K> | undefined>;
  act(volume: VolumeRecord, target: PlannedChange<K>['target']): Promise<Effect>;
  readonly changed: (volume: VolumeRecord, effect: Effect) => Partial<VolumeRecord>;
};
type PlannedChange<K extends ChangeKind> = {
  readonly target: NonNullable<PendingWork[K]>;
  readonly reservedBytes?: number;
};
type ChangeIntent<K extends ChangeKind> = Pick<PlannedChange<K>, 'target'> & {
  readonly volume: VolumeRecord;
};

/** Makes the changes of ready volumes, attached or not. */
export function createChanges(options: ServiceOptions) {
  const { engine, pools, operations } = options;
  async function run<K extends ChangeKind, E>(id: string, change: Change<K, E>): Promise<Volume> {
    const { kind, operation, subject } = change;
    const changed = await operations.run<ChangeIntent<K>, E, VolumeRecord>({
      operation,
      subject,
      claims: [{ kind: 'volume', id }],
      pool: ({ volume }) => volume.pool,
      async intend(sql) {
        const volume = await requireReadyVolume(sql, id);
        const planned = await change.begin(volume, sql);
        if (!planned) return { result: volume };
        const { target, reservedBytes = volume.reservedBytes } = planned;
        await changeVolume(sql, volume, { pending: { ...volume.pending, [kind]: target }, reservedBytes });
        return { intent: { target, volume: { ...volume, reservedBytes } } };
      },
      act: ({ volume, target }) => change.act(volume, target),
      succeed(sql, { intent: { volume }, effect }) {
        const pending = { ...volume.pending, [kind]: undefined };
        return changeVolume(sql, volume, { ...change.changed(volume, effect), pending });
      },
      async fail(sql, { intent: { volume, target }, problem }) {
        if (!problemTable[problem.code].final) return;
        // Earlier pending work with other bounds or parameters may have been done, and must still be
        // finished.
        const before = volume.pending[kind];
        const pending = { ...volume.pending, [kind]: sameJson(before, target) ? undefined : before };
        const reservedBytes = pending.expansion ? volume.reservedBytes : volume.sizeBytes;
        await changeVolume(sql, volume, { pending, reservedBytes });
      },
      ...(kind === 'modification' && { settle: ({ volume }) => settle(engine.reader, volume) }),
    });
    return showVolume(options, changed);
  }

  const expandIn = (name: string) =>
    requireOffered(pools.get(name), pools.get(name).backend.expand, 'expansion of volumes');
  const modificationIn = (name: string) =>
    requireOffered(pools.get(name), pools.get(name).backend.modification, 'modification of volumes');

  const chooseGrownSize = ({ pool, spec }: VolumeRecord, target: SizeBounds) => {
    const { backend } = pools.get(pool);
    return chooseSize(target, backend.sizes, neededBytesOf(backend, spec));
  };
  const filesystemOn = (volume: VolumeRecord) =>
    pools.get(volume.pool).backend.areShares ? undefined : filesystemOf(volume);

  return {
    /** Expands the volume to a size within the bounds, or finds that it has one. A volume never shrinks. */
    async expand(cluster: Cluster, id: string, spec: SizeSpec): Promise<Volume> {
      await requireOwner(engine.reader, cluster, id);
      requireRange(spec);
      const { requiredBytes = 0, limitBytes = 0 } = spec;
      const target = { requiredBytes, limitBytes };
      const known = await findVolume(engine.reader, id);
      const spaces = known && (await measureSpaces(pools.get(known.pool)));
      const grown = await run<'expansion', ExpandedVolume>(id, {
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
          await Promise.all([
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
        changed: ({ spec: { parameters } }, { sizeBytes, nodeExpansionRequired }) => ({
          sizeBytes,
          reservedBytes: sizeBytes,
          nodeExpansionRequired: nodeExpansionRequired || encryptionOf(parameters) !== undefined,
        }),
      });
      if (isWithin(grown.sizeBytes, { limitBytes })) return grown;
      throw new Problem(
        'OUT_OF_RANGE',
        `volume "${id}" has ${grown.sizeBytes} bytes, more than the limit of ${limitBytes}`,
      );
    },

    /** Sets these mutable parameters of the volume, or finds that it has them. Other parameters stay. */
    async modify(cluster: Cluster, id: string, given: Parameters): Promise<Volume> {
      await requireOwner(engine.reader, cluster, id);
      return run<'modification', Parameters>(id, {
        kind: 'modification',
        operation: 'modify',
        subject: given,
        async begin(volume) {
          const { pool, mutableParameters: has } = volume;
          const earlier = volume.pending.modification;
          if (sameJson(earlier, given)) return { target: given };
          const read = readParameters(modificationIn(pool).parameters, given, 'mutableParameters');
          const isNew = earlier !== undefined || !sameJson(has, { ...has, ...read });
          if (!isNew) return undefined;
          const modification = { ...earlier, ...read };
          requireChangedSize(volume, modification);
          return { target: modification };
        },
        async act(volume, target) {
          // Newer settings may refuse parameters that an earlier call accepted.
          const modification = modificationIn(volume.pool);
          const parameters = readParameters(modification.parameters, target, 'mutableParameters');
          await modification.apply(toKnownVolume(volume), parameters);
          return parameters;
        },
        changed: ({ mutableParameters }, parameters) => ({
          mutableParameters: { ...mutableParameters, ...parameters },
        }),
      });
    },
  };
}

/** Throws INVALID_ARGUMENT when the volume would have too many parameters in all. */
function requireChangedSize(volume: VolumeRecord, modification: Parameters): void {
  const mutableParameters = { ...volume.mutableParameters, ...modification };
  const bytes = mapByteLength(mutableParameters);
  if (bytes > limits.mapBytes.max)
    throw limitProblem('mapBytes', `mutableParameters of volume "${volume.id}"`, bytes);
  requireVolumeSize({ ...volume, mutableParameters, pending: { ...volume.pending, modification } });
}

/**
 * Schedules the recorded parameters for a sweep: a late call may have replaced newer ones, and the volume may
 * have a new owner.
 */
async function settle(
  reader: Reader,
  { id, nonce, storageId = id }: VolumeRecord,
): Promise<Operation<never, void, void>> {
  const { id: now = id } = (await findAtStorage(reader, storageId)) ?? {};
  return {
    operation: 'settle',
    subject: undefined,
    claims: [{ kind: 'volume', id: now }],
    async intend(sql) {
      const volume = await findAtStorage(sql, storageId);
      if (volume?.nonce !== nonce || volume.state !== 'ready') return { result: undefined };
      if (volume.id !== now) throw new Problem('ABORTED', `volume "${now}" is now "${volume.id}"`);
      const { mutableParameters, pending } = volume;
      const isLeft = pending.modification !== undefined || Object.keys(mutableParameters).length === 0;
      if (!isLeft)
        await changeVolume(sql, volume, { pending: { ...pending, modification: mutableParameters } });
      return { result: undefined };
    },
    act: async () => {},
    succeed: async () => {},
    fail: async () => {},
  };
}

/** Refuses an answer that reports less than the volume had or the request needs. */
function requireGrown({ id, sizeBytes }: VolumeRecord, requiredBytes: number, grown: ExpandedVolume): void {
  if (isWithin(grown.sizeBytes, { requiredBytes: Math.max(sizeBytes, requiredBytes) })) return;
  throw unavailableProblem(
    `the storage expanded volume "${id}" to ${grown.sizeBytes} bytes, less than requested`,
  );
}
