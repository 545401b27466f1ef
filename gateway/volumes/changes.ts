import { encryptionOf } from '../../src/api/filesystems.ts';
import { Problem, problemTable, unavailableProblem } from '../../src/api/problem.ts';
import type { SizeSpec, Volume } from '../../src/api/volume.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { ExpandedVolume } from '../backend.ts';
import type { Operation } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { requireOffered } from '../pools/features.ts';
import { measureSpaces, requireSpace } from '../pools/space.ts';
import type { Reader, Sql } from '../store.ts';
import { findAtStorage, findVolume, type Pending, type VolumeRecord } from '../tables/volumes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { requireOwner } from '../tenancy/access.ts';
import { requireQuota } from '../tenancy/quotas.ts';
import { changeVolume, requireReadyVolume, toKnownVolume } from './record.ts';
import { showVolume } from './show.ts';
import { chooseSize, isWithin, requireRange } from './size.ts';
import { readParameters } from './validate.ts';

type Parameters = Readonly<Record<string, string>>;
type Kind = keyof Pending;

/** A change of a ready volume. It is recorded as pending until it is done, or refused for good by whatever it meets. */
type Change<K extends Kind, Effect> = {
  readonly kind: K;
  readonly operation: string;
  readonly subject: object;
  /** What is to be done with what was pending before, and what it reserves. Undefined: the volume is so already. */
  begin(volume: VolumeRecord, sql: Sql): Promise<Asked<K> | undefined>;
  act(volume: VolumeRecord, asked: Asked<K>['asked']): Promise<Effect>;
  readonly changed: (volume: VolumeRecord, effect: Effect) => Partial<VolumeRecord>;
};
type Asked<K extends Kind> = { readonly asked: NonNullable<Pending[K]>; readonly reservedBytes?: number };
type Begun<K extends Kind> = Pick<Asked<K>, 'asked'> & { readonly volume: VolumeRecord };

/** Makes the changes of volumes that are ready, attached or not. */
export function createChanges({ engine, pools, operations }: ServiceOptions) {
  async function run<K extends Kind, E>(id: string, change: Change<K, E>): Promise<Volume> {
    const { kind, operation, subject } = change;
    const changed = await operations.run<Begun<K>, E, VolumeRecord>({
      operation,
      subject,
      claims: [{ kind: 'volume', id }],
      pool: ({ volume }) => volume.pool,
      async intend(sql) {
        const volume = await requireReadyVolume(sql, id);
        const begun = await change.begin(volume, sql);
        if (!begun) return { result: volume };
        const { asked, reservedBytes = volume.reservedBytes } = begun;
        await changeVolume(sql, volume, { pending: { ...volume.pending, [kind]: asked }, reservedBytes });
        return { intent: { asked, volume: { ...volume, reservedBytes } } };
      },
      act: ({ volume, asked }) => change.act(volume, asked),
      succeed(sql, { intent: { volume }, effect }) {
        const pending = { ...volume.pending, [kind]: undefined };
        return changeVolume(sql, volume, { ...change.changed(volume, effect), pending });
      },
      async fail(sql, { intent: { volume, asked }, problem }) {
        if (!problemTable[problem.code].final) return;
        // What was begun before with other bounds or parameters may have been done, and is still to be finished.
        const before = volume.pending[kind];
        const pending = { ...volume.pending, [kind]: sameJson(before, asked) ? undefined : before };
        const reservedBytes = pending.expansion ? volume.reservedBytes : volume.sizeBytes;
        await changeVolume(sql, volume, { pending, reservedBytes });
      },
      ...(kind === 'modification' && { settle: ({ volume }) => settle(engine.reader, volume) }),
    });
    return showVolume(engine.reader, changed);
  }

  const expandIn = (name: string) =>
    requireOffered(pools.get(name), pools.get(name).backend.expand, 'expansion of volumes');
  const modificationIn = (name: string) =>
    requireOffered(pools.get(name), pools.get(name).backend.modification, 'modification of volumes');

  return {
    /** Grows the volume to a size within the bounds, or finds that it has one. It never shrinks. */
    async expand(cluster: Cluster, id: string, spec: SizeSpec): Promise<Volume> {
      await requireOwner(engine.reader, cluster, id);
      requireRange(spec);
      const { requiredBytes = 0, limitBytes = 0 } = spec;
      const asked = { requiredBytes, limitBytes };
      const known = await findVolume(engine.reader, id);
      const spaces = known && (await measureSpaces(pools.get(known.pool)));
      const grown = await run<'expansion', ExpandedVolume>(id, {
        kind: 'expansion',
        operation: 'expand',
        subject: asked,
        async begin({ pool: name, sizeBytes, reservedBytes: heldBytes, segments, pending }, sql) {
          const pool = pools.get(name);
          if (sameJson(pending.expansion, asked)) return { asked };
          expandIn(name);
          if (sizeBytes >= requiredBytes) return undefined;
          const bytes = Math.max(heldBytes, chooseSize(asked, pool.backend.sizes));
          await requireSpace(sql, { pool, spaces }, { bytes, heldBytes, topologies: segments && [segments] });
          await requireQuota(sql, cluster, { pool: name, bytes: bytes - heldBytes });
          return { asked, reservedBytes: bytes };
        },
        async act(volume) {
          const size = chooseSize(asked, pools.get(volume.pool).backend.sizes);
          const bounds = { requiredBytes: size, limitBytes };
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

    /** Gives these mutable parameters to the volume, or finds that it has them; others stay as they are. */
    async modify(cluster: Cluster, id: string, given: Parameters): Promise<Volume> {
      await requireOwner(engine.reader, cluster, id);
      return run<'modification', Parameters>(id, {
        kind: 'modification',
        operation: 'modify',
        subject: given,
        async begin({ pool, mutableParameters: has, pending: { modification: begun } }) {
          if (sameJson(begun, given)) return { asked: given };
          const read = readParameters(modificationIn(pool).parameters, given, 'mutableParameters');
          const isNew = begun !== undefined || !sameJson(has, { ...has, ...read });
          return isNew ? { asked: { ...begun, ...read } } : undefined;
        },
        async act(volume, asked) {
          // What was begun may be refused by newer settings.
          const modification = modificationIn(volume.pool);
          const parameters = readParameters(modification.parameters, asked, 'mutableParameters');
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

/** What was applied too late may be in place of newer parameters, whose volume it is by now: a sweep applies those that are recorded again. */
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
      if (volume.id !== now) throw new Problem('ABORTED', `volume "${now}" is "${volume.id}" now`);
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

/** A volume is never reported as grown to less than it had, or less than was asked for. */
function requireGrown({ id, sizeBytes }: VolumeRecord, requiredBytes: number, grown: ExpandedVolume): void {
  if (isWithin(grown.sizeBytes, { requiredBytes: Math.max(sizeBytes, requiredBytes) })) return;
  throw unavailableProblem(
    `the storage expanded volume "${id}" to ${grown.sizeBytes} bytes, which was not asked for`,
  );
}
