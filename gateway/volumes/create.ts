import { formatOptionsOf, storageContext } from '../../src/api/filesystems.ts';
import type { ExistingFilesystem } from '../../src/api/filesystems/candidates.ts';
import { limits } from '../../src/api/limits.ts';
import {
  invalidProblem,
  preconditionProblem,
  Problem,
  problemTable,
  unavailableProblem,
} from '../../src/api/problem.ts';
import { formatSegments, type Segments } from '../../src/api/topology.ts';
import { sameJson } from '../../src/lib/json.ts';
import type { Backend, CreatedVolume, VolumeSource } from '../backend.ts';
import type { IntendResult } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { type Choice, choosePool, poolsOf, requireUsable } from '../pools/choice.ts';
import type { Pool } from '../pools/pools.ts';
import { requireAll } from '../pools/room.ts';
import { measureSpaces, requireSpace, type Space } from '../pools/space.ts';
import type { Reader, Sql } from '../store.ts';
import type { Resource } from '../tables/claims.ts';
import { requireInService, requireUndrained } from '../tables/closures.ts';
import { moveReservation } from '../tables/reservations.ts';
import type { SnapshotRecord } from '../tables/snapshots.ts';
import { segmentsText } from '../tables/table.ts';
import { findVolume, type VolumeRecord, volumeTable } from '../tables/volumes.ts';
import type { Cluster } from '../callers/cluster.ts';
import { requireCopyable } from '../callers/access.ts';
import { requireOwnNew } from '../callers/ownership.ts';
import { requireQuota } from '../pools/quotas.ts';
import { undoVolume } from './delete.ts';
import { neededBytesOf, requireReach } from './filesystem.ts';
import { anywhere, choiceSteps, isOneOf, requirementSteps } from './placement.ts';
import {
  type VolumeRequest,
  changeVolume,
  newVolumeRecord,
  requireFitting,
  requireSame,
  toKnownVolume,
} from './record.ts';
import { chooseSize, isWithin } from './size.ts';
import { createRoomMaker } from './deletion/leave.ts';
import { findSource, requireSource, requireSourceOffered, sizeOfSource, toResource } from './sources.ts';

type VolumeIntent = {
  readonly record: VolumeRecord;
  readonly source: VolumeSource | undefined;
  readonly topologies: readonly Segments[] | undefined;
};
type VolumePlan = Pick<VolumeIntent, 'record' | 'source'> & {
  readonly filesystem?: ExistingFilesystem | undefined;
};
/** An existing volume. `created` is true if it did not exist before. */
type CreateResult = { readonly record: VolumeRecord; readonly created: boolean };
type PoolSpaces = {
  readonly cluster: Cluster;
  readonly pool: Pool;
  readonly spaces: readonly Space[] | undefined;
};

/** Creates the volume, or finds an existing one that fits the request. */
export async function createVolume(options: ServiceOptions, request: VolumeRequest): Promise<CreateResult> {
  const { cluster, id, spec } = request;
  const resource: Resource = { kind: 'volume', id };
  requireOwnNew(cluster, resource);
  if (spec.existing) throw invalidProblem('body.existing: only an operator imports a volume');
  await requireSourceAccess(options.engine.reader, { cluster, id, source: spec.source });
  const placing = spec.topology && requirementSteps(spec.topology);
  const requirement = placing ? await options.slices.work(cluster, placing) : anywhere;
  const choice = await choosePoolFor(options, request);
  const { pool } = choice;
  const logged = { operation: 'create', ...resource };
  const { topologies: known } = pool.backend;
  const choosing = spec.topology && known && choiceSteps(known, requirement);
  const chosen = choosing && (await options.slices.work(cluster, choosing));
  const asNew = newVolumeRecord(request, choice, chosen);
  const spaces = await options.operations.prepare(logged, pool.name, () => measureSpaces(pool));
  const created = await options.operations.run<VolumeIntent, CreatedVolume, CreateResult>({
    operation: 'create',
    about: pool.name,
    subject: { name: asNew.name, spec: asNew.spec, source: asNew.source, pool: asNew.pool },
    // The source volume must not change while it is copied.
    claims: spec.source?.kind === 'volume' ? [resource, toResource(spec.source)] : [resource],
    pool: ({ record }) => record.pool,
    intend: sql => intendCreate(sql, asNew, { cluster, pool, spaces }),
    makeRoom: createRoomMaker(options),
    act: creating => create(pool.backend, creating),
    async succeed(sql, { intent: { record }, effect: { sizeBytes, context: own = {}, segments } }) {
      const context = { ...storageContext(own), ...formatOptionsOf(record.spec.parameters ?? {}) };
      const changes = { state: 'ready', sizeBytes, reservedBytes: sizeBytes, context, segments } as const;
      return { record: await changeVolume(sql, record, changes), created: true };
    },
    async fail(sql, { intent: { record }, problem }) {
      if (problemTable[problem.code].final) await volumeTable.update(sql, record, { state: 'deleting' });
    },
    undo: ({ record }) => undoVolume(options.pools, record, ['deleting']),
  });
  requireFitting(created.record, asNew, requirement);
  return created;
}

/** Throws when the cluster may not copy the source. A copy that has begun continues after its grant was revoked. */
async function requireSourceAccess(
  sql: Reader,
  { cluster, id, source }: Pick<VolumeRecord, 'id' | 'source'> & { readonly cluster: Cluster },
): Promise<void> {
  if (!source) return;
  try {
    await requireCopyable(sql, cluster, toResource(source));
  } catch (error) {
    if (!sameJson((await findVolume(sql, id))?.source, source)) throw error;
  }
}

/**
 * Chooses the pool. A recorded volume stays in its pool even if the cluster may not use the pool any more,
 * and a copy goes into its source's pool.
 */
async function choosePoolFor(
  { engine, pools }: ServiceOptions,
  { cluster, id, spec: { parameters, source } }: VolumeRequest,
): Promise<Choice & { readonly from?: SnapshotRecord | VolumeRecord }> {
  const usable = poolsOf(pools, cluster);
  const hasOnePool = pools.all().length === 1 && pools.waiting().size === 0;
  if (!source && usable.length === 1 && hasOnePool) return choosePool(usable, parameters);
  const known = await findVolume(engine.reader, id);
  const recorded = known && pools.get(known.pool);
  if (recorded) return choosePool([...new Set([...usable, recorded])], parameters, recorded);
  if (!source) return choosePool(usable, parameters);
  const from = await requireSource(engine.reader, source);
  const { pool: sourcePool } = from;
  requireUsable(cluster, sourcePool, toResource(source));
  const implied = usable.find(({ name }) => name === sourcePool);
  const choice = choosePool(usable, parameters, implied);
  requireSourceOffered(choice.pool, source, sourcePool);
  return { ...choice, from };
}

/** Compares an existing volume with the request, and continues an unfinished one as it was first requested. */
async function intendCreate(
  sql: Sql,
  request: VolumeRecord,
  where: PoolSpaces,
): Promise<IntendResult<VolumeIntent, CreateResult>> {
  const { source: from } = request;
  // The lock keeps the source from being deleted before this copy is recorded.
  if (from) await sql.lock(toResource(from).kind, toResource(from).id);
  // Statements that are sent together take only one round trip to a database on the network.
  const [[reserved], known] = await Promise.all([
    Promise.allSettled(from ? [] : [chooseSpace(sql, { record: request, source: undefined }, where)]),
    findKnown(sql, request.id),
  ]);
  await requireSourceAccess(sql, { ...request, cluster: where.cluster });
  if (known) await requireSame(sql, known, request);
  if (known?.state === 'ready') return { result: { record: known, created: false } };
  const { source, filesystem } = await findSource(sql, known ?? request);
  const plan = { record: known ?? request, source, filesystem };
  requireNotSmaller(plan, where.pool);
  if (known) return { intent: { ...plan, topologies: requireTopologies(where.pool.backend, plan) } };
  if (reserved?.status === 'rejected') throw reserved.reason;
  const intent = reserved?.value ?? (await chooseSpace(sql, plan, where));
  await moveReservation(sql, undefined, intent.record);
  await volumeTable.add(sql, intent.record);
  return { intent };
}

/** Chooses the size and the topology of a new volume. The transaction then has to reserve them. */
async function chooseSpace(
  sql: Sql,
  { record, source, filesystem }: VolumePlan,
  where: PoolSpaces,
): Promise<VolumeIntent> {
  const { pool, cluster } = where;
  const { nonce } = record;
  const topologies = requireTopologies(pool.backend, { record, source });
  const { requiredBytes = 0, limitBytes = 0 } = record.spec;
  const wanted = { requiredBytes: requiredBytes || sizeOfSource(source), limitBytes };
  const bytes = chooseSize(wanted, pool.backend.sizes, neededBytesOf(pool.backend, record.spec));
  requireReach(filesystem, record.spec.parameters, { fromBytes: sizeOfSource(source), toBytes: bytes });
  const finding = requireSpace(sql, where, { bytes, nonce, topologies });
  await requireAll([
    finding,
    requireInService(sql, cluster.name, nonce),
    requireQuota(sql, cluster, { pool: pool.name, nonce, bytes, volumes: 1 }),
    requireUndrained(sql, pool.name, nonce),
  ]);
  const segments = (await finding)?.segments;
  const chosen = topologies && segments ? [segments] : topologies;
  const { topologies: requested, ...spec } = record.spec;
  return {
    // A retry continues from this record. Its list of topologies is cut, because a cluster may name
    // thousands, and a storage may have as many.
    record: {
      ...record,
      spec: {
        ...spec,
        ...(requested && chosen && { topologies: firstWithin(chosen, limits.mapBytes.max) }),
        ...(filesystem && { filesystem }),
      },
      reservedBytes: bytes,
      segments,
    },
    source,
    topologies: chosen,
  };
}

function firstWithin(topologies: readonly Segments[], maxBytes: number): readonly Segments[] {
  let bytes = 0;
  return topologies.filter(one => (bytes += segmentsText(one).length) <= maxBytes);
}

/** Finds the record. FAILED_PRECONDITION when there is none, but the storage uses the id for another volume. */
async function findKnown(sql: Sql, id: string): Promise<VolumeRecord | undefined> {
  const found = await volumeTable.select(sql, {}, 'and (id = ? or storage_id = ?)', id, id);
  const known = found.find(one => one.id === id);
  if (known || found.length === 0) return known;
  throw preconditionProblem(`"${id}" still names a transferred volume in the storage; choose another name`);
}

/**
 * Throws OUT_OF_RANGE when the requested or reserved size is smaller than the source, because a copy is never
 * cut off. The source may be larger than it was requested, and so may the copy.
 */
function requireNotSmaller({ record, source }: VolumePlan, pool: Pool): void {
  if (!source) return;
  const { spec, reservedBytes } = record;
  const { requiredBytes = 0, limitBytes = 0 } = spec;
  const sizeBytes = sizeOfSource(source);
  const wanted = { requiredBytes, limitBytes };
  const roundedBytes =
    requiredBytes > 0 ? chooseSize(wanted, pool.backend.sizes, neededBytesOf(pool.backend, record.spec)) : 0;
  for (const bytes of [roundedBytes, limitBytes, reservedBytes])
    if (bytes > 0 && bytes < sizeBytes)
      throw new Problem(
        'OUT_OF_RANGE',
        `the source ${source.kind} has ${sizeBytes} bytes, more than the requested ${bytes}; request at least as many`,
      );
}

/**
 * Returns the requested topologies that the source is also in; undefined in a pool without topologies.
 * RESOURCE_EXHAUSTED when none is left.
 */
function requireTopologies(
  { topologies: known }: Backend,
  { record: { id, spec, segments }, source }: VolumePlan,
): readonly Segments[] | undefined {
  if (!known) return undefined;
  const sourceSegments = source?.kind === 'snapshot' ? source.snapshot.segments : source?.volume.segments;
  const wanted = segments ? [segments] : (spec.topologies ?? known);
  const topologies = wanted.filter(
    one => isOneOf(one, known) && (!sourceSegments || isOneOf(one, [sourceSegments])),
  );
  if (topologies.length > 0) return topologies;
  const all = known.map(one => `"${formatSegments(one)}"`).join(', ');
  const sourceText = sourceSegments
    ? `, and its ${source?.kind} is in "${formatSegments(sourceSegments)}"`
    : '';
  throw new Problem(
    'RESOURCE_EXHAUSTED',
    `volume "${id}" cannot be in a requested topology: the pool is in ${all}${sourceText}`,
  );
}

/**
 * Creates the volume in the storage. An answer with a size outside the bounds, or with another topology, is
 * refused, even if another gateway created the volume.
 */
async function create(
  backend: Backend,
  { record, source, topologies }: VolumeIntent,
): Promise<CreatedVolume> {
  const { id, nonce, spec, reservedBytes: requiredBytes } = record;
  const { limitBytes = 0, mutableParameters = {}, capabilities } = spec;
  const created = await backend.create({
    id,
    nonce,
    requiredBytes,
    limitBytes,
    parameters: toKnownVolume(record).parameters,
    capabilities,
    ...(source && { source }),
    ...(backend.modification && { mutableParameters }),
    ...(topologies && { topologies }),
  });
  const only = topologies?.length === 1 ? topologies[0] : undefined;
  const { sizeBytes, segments = only } = created;
  const isInTopology = !topologies || (segments && isOneOf(segments, topologies));
  if (isInTopology && isWithin(sizeBytes, { requiredBytes, limitBytes }))
    return { ...created, ...(segments && { segments }) };
  const where = segments ? `in "${formatSegments(segments)}"` : 'in no topology';
  throw unavailableProblem(
    `the storage created volume "${id}" with ${sizeBytes} bytes ${where}, which does not match the request`,
  );
}
