import { formatOptionsOf } from '../../src/api/filesystems.ts';
import { Problem, problemTable } from '../../src/api/problem.ts';
import { undoOrRetry } from '../operations/undo.ts';
import { formatSegments, type Segments } from '../../src/api/topology.ts';
import type { Backend, CreatedVolume, VolumeSource } from '../backend.ts';
import type { Intended, Operation } from '../operations/operation.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { choosePool, poolsOf, type Choice } from '../pools/choice.ts';
import type { Pool } from '../pools/pools.ts';
import { measureSpaces, requireSpace, type Space } from '../pools/space.ts';
import type { Sql } from '../store.ts';
import type { Resource } from '../tables/claims.ts';
import { moveReservation } from '../tables/reservations.ts';
import { findVolume, volumeTable, type VolumeRecord } from '../tables/volumes.ts';
import { requireOwn, requireOwnNew } from '../tenancy/ownership.ts';
import { isOneOf, readRequirement } from './placement.ts';
import { newVolumeRecord, requireFitting, requireSame, type Asked } from './record.ts';
import { chooseSize } from './size.ts';
import {
  claimsOfSource,
  findSource,
  segmentsOfSource,
  requireSource,
  requireSourceOffered,
  sizeOfSource,
  toResource,
} from './sources.ts';
import { isWithin } from './validate.ts';

/** A volume that is recorded, with what it is filled from. */
type Making = { readonly record: VolumeRecord; readonly source: VolumeSource | undefined };
/** A volume that is there; `created` when it was not there before. */
export type Made = { readonly record: VolumeRecord; readonly created: boolean };
type Where = { readonly pool: Pool; readonly spaces: readonly Space[] | undefined };

/** Makes the volume, or finds that it is there and fits. */
export async function createVolume(
  { engine, pools, operations }: ServiceOptions,
  asked: Asked,
): Promise<Made> {
  const { cluster, id, spec } = asked;
  const resource: Resource = { kind: 'volume', id };
  requireOwnNew(cluster, resource);
  if (spec.source) requireOwn(cluster, toResource(spec.source));
  const requirement = readRequirement(spec.topology);
  const choice = await choosePoolFor({ engine, pools }, asked);
  const { pool } = choice;
  const asNew = newVolumeRecord({ asked, choice, requirement });
  const spaces = await measureSpaces(pool);
  const operation: Operation<Making, CreatedVolume, Made> = {
    operation: 'create',
    subject: { name: asNew.name, spec: asNew.spec, source: asNew.source, pool: asNew.pool },
    claims: [resource, ...claimsOfSource(spec.source)],
    intend: sql => intendCreate(sql, asNew, { pool, spaces }),
    act: intent => makeWithin(pool.backend, intent),
    async succeed(sql, { intent, effect: { sizeBytes, context = {}, segments } }) {
      const told = { ...context, ...formatOptionsOf(intent.record.spec.parameters ?? {}) };
      const made = { state: 'ready', sizeBytes, reservedBytes: sizeBytes, context: told, segments } as const;
      const record = { ...intent.record, ...made };
      await moveReservation(sql, intent.record, record);
      await volumeTable.update(sql, { id }, made);
      return { record, created: true };
    },
    async fail(sql, { intent: { record }, problem }) {
      if (!problemTable[problem.code].final) return;
      await moveReservation(sql, record, undefined);
      await volumeTable.remove(sql, { id });
    },
  };
  const made = await operations.run(operation);
  requireFitting(made.record, asNew, requirement);
  return made;
}

/** A volume that is recorded stays in its pool, though the cluster may not use that any more, and a copy goes where its source is. */
async function choosePoolFor(
  { engine, pools }: Pick<ServiceOptions, 'engine' | 'pools'>,
  { cluster, id, spec: { parameters, source } }: Asked,
): Promise<Choice> {
  const usable = poolsOf(pools, cluster);
  if (!source && usable.length === 1 && pools.all().length === 1) return choosePool(usable, parameters);
  const known = await findVolume(engine.reader, id);
  const recorded = known && pools.get(known.pool);
  if (recorded) return choosePool([...new Set([...usable, recorded])], parameters, recorded);
  if (!source) return choosePool(usable, parameters);
  const { pool: sourcePool } = await requireSource(engine.reader, source);
  const choice = choosePool(
    usable,
    parameters,
    usable.find(({ name }) => name === sourcePool),
  );
  requireSourceOffered(choice.pool, source, sourcePool);
  return choice;
}

/** A volume that is there is compared; one that is half made is made as it was first asked for. */
async function intendCreate(sql: Sql, asked: VolumeRecord, where: Where): Promise<Intended<Making, Made>> {
  const known = await volumeTable.find(sql, asked);
  if (!known) return { intent: await recordNew(sql, asked, where) };
  if (known.state === 'deleted') throw softDeletedProblem(known);
  if (known.state === 'deleting')
    throw new Problem('ABORTED', `volume "${known.id}" is being deleted; try again`);
  requireSame(known, asked);
  if (known.state === 'ready') return { result: { record: known, created: false } };
  return { intent: { record: known, source: await findSource(sql, known) } };
}

/** Chooses size and segments, reserves the space and records the volume. */
async function recordNew(sql: Sql, asked: VolumeRecord, where: Where): Promise<Making> {
  const { backend } = where.pool;
  const source = await findSource(sql, asked);
  requireNotSmaller(asked, source);
  const topologies = requireTopologies(backend, { record: asked, source });
  const reservedBytes = sizeWithin(backend, asked, source);
  const space = await requireSpace(sql, where, { bytes: reservedBytes, topologies });
  const record = { ...asked, reservedBytes, segments: space?.segments };
  await moveReservation(sql, undefined, record);
  await volumeTable.insert(sql, record);
  return { record, source };
}

function softDeletedProblem({ id, restorableUntilMs = 0 }: VolumeRecord): Problem {
  const until = new Date(restorableUntilMs).toISOString();
  return new Problem('FAILED_PRECONDITION', `volume "${id}" was deleted and can be restored until ${until}`);
}

/** A copy is never cut off: what is asked for must hold all of the source, or OUT_OF_RANGE. */
function requireNotSmaller({ spec }: VolumeRecord, source: VolumeSource | undefined): void {
  const sizeBytes = sizeOfSource(source);
  for (const bytes of [spec.requiredBytes ?? 0, spec.limitBytes ?? 0])
    if (bytes > 0 && bytes < sizeBytes)
      throw new Problem(
        'OUT_OF_RANGE',
        `the ${source?.kind} to make it from has ${sizeBytes} bytes, more than the ${bytes} asked for`,
      );
}

/**
 * The topologies in which the volume may be now: those that were asked for, and of them only the source's own. Undefined
 * when the storage has no topologies; RESOURCE_EXHAUSTED when none is left.
 */
function requireTopologies(
  { topologies: known }: Backend,
  { record: { id, spec, segments }, source }: Making,
): readonly Segments[] | undefined {
  if (!known) return undefined;
  const beside = segmentsOfSource(source);
  const wanted = segments ? [segments] : spec.topologies;
  const asked = wanted?.filter(one => isOneOf(one, known)) ?? known;
  const topologies = beside ? asked.filter(one => isOneOf(one, [beside])) : asked;
  if (topologies.length > 0) return topologies;
  const besideIt = beside ? `, and its ${source?.kind} is in "${formatSegments(beside)}"` : '';
  throw new Problem(
    'RESOURCE_EXHAUSTED',
    `volume "${id}" cannot be where it is asked for: the pool is in ${formatAll(known)}${besideIt}`,
  );
}

/** A volume of a size outside the bounds, or in another topology, is never reported as created, whoever created it. */
async function makeWithin(backend: Backend, making: Making): Promise<CreatedVolume> {
  const { id } = making.record;
  const topologies = await findTopologies(backend, making);
  const made = await create(backend, making, topologies);
  if (!topologies) return made;
  const segments = made.segments ?? (topologies.length === 1 ? topologies[0] : undefined);
  if (segments && isOneOf(segments, topologies)) return { ...made, segments };
  const where = made.segments ? `in "${formatSegments(made.segments)}"` : 'and did not report where';
  throw new Problem('UNAVAILABLE', `the storage created volume "${id}" ${where}, which was not asked for`);
}

/** When the storage is not any more where the volume was to be, what was begun of it is removed. */
async function findTopologies(backend: Backend, making: Making): Promise<readonly Segments[] | undefined> {
  try {
    return requireTopologies(backend, making);
  } catch (error) {
    await undoOrRetry(() => backend.delete(making.record));
    throw error;
  }
}

/** What is asked of the backend, and reserved: the size itself where the gateway knows the sizes, else the least. */
function sizeWithin(backend: Backend, { spec }: VolumeRecord, source: VolumeSource | undefined): number {
  const { limitBytes = 0 } = spec;
  const requiredBytes = Math.max(spec.requiredBytes ?? 0, sizeOfSource(source));
  return backend.sizes ? chooseSize({ requiredBytes, limitBytes }, backend.sizes) : requiredBytes;
}

async function create(
  backend: Backend,
  { record, source }: Making,
  topologies: readonly Segments[] | undefined,
): Promise<CreatedVolume> {
  const { id, spec, reservedBytes: requiredBytes } = record;
  const { limitBytes = 0, mutableParameters = {}, capabilities } = spec;
  const { pool: _, ...parameters } = spec.parameters ?? {};
  const made = await backend.create({
    id,
    requiredBytes,
    limitBytes,
    parameters,
    capabilities,
    ...(source && { source }),
    ...(backend.modification && { mutableParameters }),
    ...(topologies && { topologies }),
  });
  if (!isWithin(made.sizeBytes, { requiredBytes, limitBytes }))
    throw new Problem(
      'UNAVAILABLE',
      `the storage created volume "${id}" with ${made.sizeBytes} bytes, which was not asked for`,
    );
  return made;
}

function formatAll(topologies: readonly Segments[]): string {
  return topologies.map(segments => `"${formatSegments(segments)}"`).join(', ');
}
