import { formatOptionsOf } from '../../src/api/filesystems.ts';
import { preconditionProblem, Problem, problemTable, unavailableProblem } from '../../src/api/problem.ts';
import { formatSegments, type Segments } from '../../src/api/topology.ts';
import type { Backend, CreatedVolume, VolumeSource } from '../backend.ts';
import type { Intended } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { type Choice, choosePool, poolsOf } from '../pools/choice.ts';
import type { Pool } from '../pools/pools.ts';
import { measureSpaces, requireSpace, type Space } from '../pools/space.ts';
import type { Sql } from '../store.ts';
import type { Resource } from '../tables/claims.ts';
import { moveReservation } from '../tables/reservations.ts';
import { findVolume, type VolumeRecord, volumeTable } from '../tables/volumes.ts';
import type { Cluster } from '../tenancy/cluster.ts';
import { requireOwner } from '../tenancy/access.ts';
import { requireOwn, requireOwnNew } from '../tenancy/ownership.ts';
import { requireQuota } from '../tenancy/quotas.ts';
import { undoVolume } from './delete.ts';
import { anywhere, choiceSteps, isOneOf, requirementSteps } from './placement.ts';
import {
  type Asked,
  changeVolume,
  newVolumeRecord,
  requireFitting,
  requireSame,
  toKnownVolume,
} from './record.ts';
import { chooseSize, isWithin } from './size.ts';
import { findSource, requireSource, requireSourceOffered, sizeOfSource, toResource } from './sources.ts';

/** A volume that is recorded, with what it is filled from, and the topologies in which it may be where there are such. */
type Creating = {
  readonly record: VolumeRecord;
  readonly source: VolumeSource | undefined;
  readonly topologies: readonly Segments[] | undefined;
};
type Begun = Pick<Creating, 'record' | 'source'>;
/** A volume that is there; `created` when it was not there before. */
type Created = { readonly record: VolumeRecord; readonly created: boolean };
type Where = {
  readonly cluster: Cluster;
  readonly pool: Pool;
  readonly spaces: readonly Space[] | undefined;
};

/** Creates the volume, or finds that it is there and fits. */
export async function createVolume(options: ServiceOptions, asked: Asked): Promise<Created> {
  const { cluster, id, spec } = asked;
  const resource: Resource = { kind: 'volume', id };
  requireOwnNew(cluster, resource);
  if (spec.source?.kind === 'snapshot') requireOwn(cluster, toResource(spec.source));
  if (spec.source?.kind === 'volume')
    await requireOwner(options.engine.reader, cluster, spec.source.volumeId);
  const placing = spec.topology && requirementSteps(spec.topology);
  const requirement = placing ? await options.turns.work(cluster, placing) : anywhere;
  const choice = await choosePoolFor(options, asked);
  const { pool } = choice;
  const { topologies: known } = pool.backend;
  const choosing = spec.topology && known && choiceSteps(known, requirement);
  const asNew = newVolumeRecord(asked, choice, choosing && (await options.turns.work(cluster, choosing)));
  const spaces = await measureSpaces(pool);
  const created = await options.operations.run<Creating, CreatedVolume, Created>({
    operation: 'create',
    subject: { name: asNew.name, spec: asNew.spec, source: asNew.source, pool: asNew.pool },
    // A volume that is copied must not change meanwhile.
    claims: spec.source?.kind === 'volume' ? [resource, toResource(spec.source)] : [resource],
    pool: ({ record }) => record.pool,
    intend: sql => intendCreate(sql, asNew, { cluster, pool, spaces }),
    act: creating => create(pool.backend, creating),
    async succeed(sql, { intent: { record }, effect: { sizeBytes, context: own = {}, segments } }) {
      const context = { ...own, ...formatOptionsOf(record.spec.parameters ?? {}) };
      const made = { state: 'ready', sizeBytes, reservedBytes: sizeBytes, context, segments } as const;
      return { record: await changeVolume(sql, record, made), created: true };
    },
    async fail(sql, { intent: { record }, problem }) {
      if (problemTable[problem.code].final) await volumeTable.update(sql, record, { state: 'deleting' });
    },
    undo: ({ record }) => undoVolume(options.pools, record, ['deleting']),
  });
  requireFitting(created.record, asNew, requirement);
  return created;
}

/** A volume that is recorded stays in its pool, though the cluster may not use that any more, and a copy goes where its source is. */
async function choosePoolFor(
  { engine, pools }: ServiceOptions,
  { cluster, id, spec: { parameters, source } }: Asked,
): Promise<Choice> {
  const usable = poolsOf(pools, cluster);
  if (!source && usable.length === 1 && pools.all().length === 1) return choosePool(usable, parameters);
  const known = await findVolume(engine.reader, id);
  const recorded = known && pools.get(known.pool);
  if (recorded) return choosePool([...new Set([...usable, recorded])], parameters, recorded);
  if (!source) return choosePool(usable, parameters);
  const { pool: sourcePool } = await requireSource(engine.reader, source);
  const implied = usable.find(({ name }) => name === sourcePool);
  const choice = choosePool(usable, parameters, implied);
  requireSourceOffered(choice.pool, source, sourcePool);
  return choice;
}

/** A volume that is there is compared; one that is half made is made as it was first asked for. */
async function intendCreate(
  sql: Sql,
  asked: VolumeRecord,
  where: Where,
): Promise<Intended<Creating, Created>> {
  const { source: from } = asked;
  // Nobody deletes it before it is recorded what is made from it.
  if (from) await sql.lock(toResource(from).kind, toResource(from).id);
  // Asked together, they take one way to a database that is reached over a network.
  const [[reserved], known] = await Promise.all([
    Promise.allSettled(from ? [] : [chooseSpace(sql, { record: asked, source: undefined }, where)]),
    findKnown(sql, asked.id),
  ]);
  if (known) requireSame(known, asked);
  if (known?.state === 'ready') return { result: { record: known, created: false } };
  const begun = { record: known ?? asked, source: await findSource(sql, known ?? asked) };
  requireNotSmaller(begun);
  if (known) return { intent: { ...begun, topologies: requireTopologies(where.pool.backend, begun) } };
  if (reserved?.status === 'rejected') throw reserved.reason;
  const intent = reserved?.value ?? (await chooseSpace(sql, begun, where));
  await moveReservation(sql, undefined, intent.record);
  await volumeTable.add(sql, intent.record);
  return { intent };
}

/** What is to be reserved for a new volume, and where. Nobody else reserves in the pool until the transaction ends. */
async function chooseSpace(sql: Sql, { record, source }: Begun, where: Where): Promise<Creating> {
  const { pool, cluster } = where;
  const topologies = requireTopologies(pool.backend, { record, source });
  const { requiredBytes = 0, limitBytes = 0 } = record.spec;
  const wanted = { requiredBytes: Math.max(requiredBytes, sizeOfSource(source)), limitBytes };
  const bytes = chooseSize(wanted, pool.backend.sizes);
  const [space] = await Promise.all([
    requireSpace(sql, where, { bytes, topologies }),
    requireQuota(sql, cluster, { pool: pool.name, bytes, volumes: 1 }),
  ]);
  const segments = space?.segments;
  return {
    record: { ...record, reservedBytes: bytes, segments },
    source,
    topologies: topologies && segments ? [segments] : topologies,
  };
}

/** The record; FAILED_PRECONDITION when there is none, and the storage calls another volume so. */
async function findKnown(sql: Sql, id: string): Promise<VolumeRecord | undefined> {
  const found = await volumeTable.select(sql, {}, 'and (id = ? or storage_id = ?)', id, id);
  const known = found.find(one => one.id === id);
  if (known || found.length === 0) return known;
  throw preconditionProblem(
    `the storage has "${id}" as the name of a volume that now belongs to another cluster`,
  );
}

/** A copy is never cut off: what is asked for, and was reserved by an earlier try, must hold all of the source, or OUT_OF_RANGE. */
function requireNotSmaller({ record: { spec, reservedBytes }, source }: Begun): void {
  const sizeBytes = sizeOfSource(source);
  for (const bytes of [spec.requiredBytes ?? 0, spec.limitBytes ?? 0, reservedBytes])
    if (bytes > 0 && bytes < sizeBytes)
      throw new Problem(
        'OUT_OF_RANGE',
        `the ${source?.kind} to make it from has ${sizeBytes} bytes, more than the ${bytes} asked for`,
      );
}

/** Those asked for that the source is in, too; undefined in a pool without. RESOURCE_EXHAUSTED when none is left. */
function requireTopologies(
  { topologies: known }: Backend,
  { record: { id, spec, segments }, source }: Begun,
): readonly Segments[] | undefined {
  if (!known) return undefined;
  const beside = source?.kind === 'snapshot' ? source.snapshot.segments : source?.volume.segments;
  const wanted = segments ? [segments] : (spec.topologies ?? known);
  const topologies = wanted.filter(one => isOneOf(one, known) && (!beside || isOneOf(one, [beside])));
  if (topologies.length > 0) return topologies;
  const all = known.map(one => `"${formatSegments(one)}"`).join(', ');
  const besideIt = beside ? `, and its ${source?.kind} is in "${formatSegments(beside)}"` : '';
  throw new Problem(
    'RESOURCE_EXHAUSTED',
    `volume "${id}" cannot be where it is asked for: the pool is in ${all}${besideIt}`,
  );
}

/** A volume of a size outside the bounds, or in another topology, is never reported as created, whoever created it. */
async function create(backend: Backend, { record, source, topologies }: Creating): Promise<CreatedVolume> {
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
    `the storage created volume "${id}" with ${sizeBytes} bytes ${where}, which was not asked for`,
  );
}
