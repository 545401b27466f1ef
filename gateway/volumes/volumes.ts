import { formatOptionsOf } from '../../src/api/filesystems.ts';
import { clusterOf } from '../../src/api/ids.ts';
import { Problem, problemTable } from '../../src/api/problem.ts';
import type { Validation, ValidationSpec, Volume, VolumePage, VolumeSpec } from '../../src/api/volume.ts';
import type { Backend, CreatedVolume } from '../backend.ts';
import { sameJson } from '../../src/lib/json.ts';
import {
  makeWithin,
  newRecord,
  requireFitting,
  requireNotSmaller,
  requirePlaces,
  requireSame,
  type Made,
  type Making,
} from './create.ts';
import { cutPage, fromPageToken, type PageQuery } from '../tables/paging.ts';
import { notFound, requireOwnNew } from '../tenancy/ownership.ts';
import { findAttachments, listAttachments } from '../tables/attachments.ts';
import type { Claim, Resource } from '../tables/claims.ts';
import { findKept, keepVolume } from '../tables/kept.ts';
import {
  claimVolume,
  findVolume,
  finishVolume,
  insertVolume,
  listVolumes,
  releaseVolume,
  removeVolume,
  type RecordedSpec,
  type VolumeRecord,
} from '../tables/volumes.ts';
import { checkCapabilities, checkMutableParameters, checkRange, checkVolumeParameters } from './validate.ts';
import { toVolume } from './documents.ts';
import { checkSource, claimedSource, freeSource, requireUnneeded, useSource } from './sources.ts';
import type { Engine, Sql } from '../store.ts';
import { choosePlaces, readRequirement, type Requirement } from './placement.ts';
import { requireHeld, type Intended, type Work } from '../operations/operation.ts';

/** The volumes of all clusters; each call names the cluster that asks, and another's volumes are not there for it. */
export interface Volumes {
  /** Makes the volume, or finds that it is there and fits; `created` is false then. */
  create(cluster: string, id: string, spec: VolumeSpec): Promise<{ volume: Volume; created: boolean }>;
  find(cluster: string, id: string): Promise<Volume | undefined>;
  get(cluster: string, id: string): Promise<Volume>;
  list(cluster: string, query: PageQuery): Promise<VolumePage>;
  validate(cluster: string, id: string, spec: ValidationSpec): Promise<Validation>;
  delete(cluster: string, id: string): Promise<void>;
}

/** What the services work with. `keepDeletedMs` is how long a deleted volume can be restored; 0 or absent: not at all. */
export type ServiceOptions = {
  readonly engine: Engine;
  readonly backend: Backend;
  readonly work: Work;
  readonly keepDeletedMs?: number;
};

/** Makes the service. */
export function createVolumes({ engine, backend, work, keepDeletedMs = 0 }: ServiceOptions): Volumes {
  async function find(cluster: string, id: string): Promise<Volume | undefined> {
    const record = await findVolume(engine.reader, id);
    if (record?.cluster !== cluster) return undefined;
    return toVolume(record, await findAttachments(engine.reader, id));
  }

  async function get(cluster: string, id: string): Promise<Volume> {
    const volume = await find(cluster, id);
    if (!volume) throw notFound(volumeOf(id));
    return volume;
  }

  /** A volume that is there is compared; one that is half made is made as it was first asked for. */
  async function intendCreate(sql: Sql, record: VolumeRecord, claim: Claim): Promise<Intended<Making, Made>> {
    if (await insertVolume(sql, record, claim)) {
      const source = await useSource(sql, { volume: record, work, claim });
      requireNotSmaller(record, source);
      requirePlaces(backend, { record, source });
      return { intent: { record, source } };
    }
    const known = await findVolume(sql, record.id);
    if (!known) throw await describeTaken(sql, record.id);
    if (known.state === 'deleting')
      throw new Problem('ABORTED', `volume "${known.id}" is being deleted; try again`);
    requireSame(known, record);
    if (known.state === 'ready') return { result: { record: known, created: false } };
    work.requireFree(known);
    await claimVolume(sql, known, claim);
    return { intent: { record: known, source: await useSource(sql, { volume: known, work, claim }) } };
  }

  async function intendDelete(sql: Sql, id: string, claim: Claim): Promise<Intended<VolumeRecord, void>> {
    const known = await findVolume(sql, id);
    if (!known) return { result: undefined };
    work.requireFree(known);
    const nodes = (await findAttachments(sql, id)).map(({ nodeId }) => `"${nodeId}"`);
    if (nodes.length > 0)
      throw new Problem('FAILED_PRECONDITION', `volume "${id}" is attached to node ${nodes.join(', ')}`);
    await requireUnneeded(sql, known);
    // What is not ready has nothing that anybody could want back.
    if (keepDeletedMs > 0 && known.state === 'ready') {
      await keepVolume(sql, id, Date.now() + keepDeletedMs);
      return { result: undefined };
    }
    await claimVolume(sql, { id, state: 'deleting' }, claim);
    return { intent: known };
  }

  return {
    find,
    get,

    async create(cluster, id, asked) {
      requireOwnNew(cluster, volumeOf(id));
      if (asked.source) checkSource(backend, cluster, asked.source);
      const requirement = readRequirement(asked.topology);
      const { name } = asked;
      const spec = toRecordedSpec(backend, asked, requirement);
      const asNew = newRecord({ id, cluster, name, spec });
      const { record, created } = await work.run<Making, CreatedVolume, Made>({
        resources: [volumeOf(id), ...claimedSource(spec.source)],
        operation: 'create',
        subject: { name, spec },
        intend: (sql, claim) => intendCreate(sql, asNew, claim),
        act: intent => makeWithin(backend, intent),
        async succeed(sql, { intent, effect: { sizeBytes, context = {}, place } }) {
          const told = { ...context, ...formatOptionsOf(intent.record.spec.parameters ?? {}) };
          const made: VolumeRecord = { ...intent.record, state: 'ready', sizeBytes, context: told, place };
          requireHeld(await finishVolume(sql, made, work.owner), made);
          await freeSource(sql, made, work.owner);
          return { record: made, created: true };
        },
        async fail(sql, { intent, problem }) {
          await freeSource(sql, intent.record, work.owner);
          if (problemTable[problem.code].final)
            requireHeld(await removeVolume(sql, id, work.owner), intent.record);
          else await releaseVolume(sql, { id, state: 'creating' }, work.owner);
        },
      });
      requireFitting(record, asNew, requirement);
      const attachments = created ? [] : await findAttachments(engine.reader, id);
      return { volume: toVolume(record, attachments), created };
    },

    async list(cluster, { limit, pageToken }) {
      const afterId = pageToken === undefined ? '' : fromPageToken(cluster, pageToken);
      const records = await listVolumes(engine.reader, { cluster, afterId, limit: limit + 1 });
      const [first, last] = [records[0], records.at(-1)];
      if (!first || !last) return { volumes: [] };
      const attachments = await listAttachments(engine.reader, { firstId: first.id, lastId: last.id });
      const byVolume = Map.groupBy(attachments, ({ volumeId }) => volumeId);
      return cutPage(
        records.map(record => toVolume(record, byVolume.get(record.id) ?? [])),
        limit,
      );
    },

    async validate(cluster, id, { capabilities, parameters, context, mutableParameters }) {
      const volume = await get(cluster, id);
      try {
        checkCapabilities(backend, capabilities);
        checkMutableParameters(backend, mutableParameters);
      } catch (error) {
        if (error instanceof Problem) return { confirmed: false, message: error.detail };
        throw error;
      }
      if (parameters && !sameJson(parameters, volume.parameters))
        return { confirmed: false, message: `volume "${id}" was made with other parameters` };
      if (context && !sameJson(context, volume.context))
        return { confirmed: false, message: `volume "${id}" has another context` };
      return { confirmed: true };
    },

    async delete(cluster, id) {
      if (clusterOf(id) !== cluster) return;
      await work.run<VolumeRecord, void, void>({
        resources: [volumeOf(id)],
        operation: 'delete',
        subject: undefined,
        intend: (sql, claim) => intendDelete(sql, id, claim),
        act: () => backend.delete({ id }),
        succeed: async sql => requireHeld(await removeVolume(sql, id, work.owner), volumeOf(id)),
        async fail(sql, { intent, problem }) {
          const refused = problem.code === 'FAILED_PRECONDITION';
          await releaseVolume(sql, { id, state: refused ? intent.state : 'deleting' }, work.owner);
        },
      });
    },
  };
}

/** What is asked, as it is recorded; INVALID_ARGUMENT names what the backend does not take. */
function toRecordedSpec(backend: Backend, asked: VolumeSpec, requirement: Requirement): RecordedSpec {
  const { name: _, topology, ...rest } = asked;
  checkRange(asked);
  checkCapabilities(backend, asked.capabilities);
  const mutableParameters = checkMutableParameters(backend, asked.mutableParameters);
  const parameters = checkVolumeParameters(backend, asked.parameters, asked.capabilities);
  const places = topology && backend.places && choosePlaces(backend.places, requirement);
  return { ...rest, parameters, mutableParameters, ...(places && { places }) };
}

/** Why an id is taken though there is no volume with it. */
async function describeTaken(sql: Sql, id: string): Promise<Problem> {
  const kept = await findKept(sql, id);
  if (!kept) return new Problem('ABORTED', `volume "${id}" is changing`);
  const until = new Date(kept.untilMs).toISOString();
  return new Problem('FAILED_PRECONDITION', `volume "${id}" was deleted and can be restored until ${until}`);
}

function volumeOf(id: string): Resource {
  return { kind: 'volume', id };
}
