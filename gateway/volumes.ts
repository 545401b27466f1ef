import { clusterOf } from '../src/api/ids.ts';
import { Problem, problemTable } from '../src/api/problem.ts';
import type { Validation, ValidationSpec, Volume, VolumePage, VolumeSpec } from '../src/api/resources.ts';
import type { Backend, CreatedVolume } from './backend.ts';
import { sameJson } from './json.ts';
import { cutPage, fromPageToken, type PageQuery } from './paging.ts';
import { findAttachments, listAttachments, type AttachmentRecord } from './records/attachments.ts';
import {
  claimVolume,
  findVolume,
  finishVolume,
  insertVolume,
  listVolumes,
  releaseVolume,
  removeVolume,
  type Claim,
  type RecordedSpec,
  type VolumeRecord,
} from './records/volumes.ts';
import { checkCapabilities, checkParameters, checkRange } from './requirements.ts';
import type { Engine, Sql } from './store.ts';
import { requireHeld, type Intended, type Work } from './work.ts';

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

/** What the services work with. */
export type ServiceOptions = { readonly engine: Engine; readonly backend: Backend; readonly work: Work };

/** Makes the service. */
export function createVolumes({ engine, backend, work }: ServiceOptions): Volumes {
  async function find(cluster: string, id: string): Promise<Volume | undefined> {
    const record = await findVolume(engine.reader, id);
    if (record?.cluster !== cluster) return undefined;
    return toVolume(record, await findAttachments(engine.reader, id));
  }

  async function get(cluster: string, id: string): Promise<Volume> {
    const volume = await find(cluster, id);
    if (!volume) throw notFound(id);
    return volume;
  }

  /** A volume that is there is compared; one that is half made is made as it was first asked for. */
  async function intendCreate(
    sql: Sql,
    record: VolumeRecord,
    claim: Claim,
  ): Promise<Intended<VolumeRecord, Made>> {
    if (await insertVolume(sql, record, claim)) return { intent: record };
    const known = await findVolume(sql, record.id);
    if (!known) throw new Problem('ABORTED', `volume "${record.id}" is changing`);
    if (known.state === 'deleting')
      throw new Problem('ABORTED', `volume "${known.id}" is being deleted; try again`);
    requireSame(known, record);
    if (known.state === 'ready') return { result: { record: known, created: false } };
    work.requireFree(known);
    await claimVolume(sql, known, claim);
    return { intent: known };
  }

  async function intendDelete(sql: Sql, id: string, claim: Claim): Promise<Intended<VolumeRecord, void>> {
    const known = await findVolume(sql, id);
    if (!known) return { result: undefined };
    work.requireFree(known);
    const nodes = (await findAttachments(sql, id)).map(({ nodeId }) => `"${nodeId}"`);
    if (nodes.length > 0)
      throw new Problem('FAILED_PRECONDITION', `volume "${id}" is attached to node ${nodes.join(', ')}`);
    await claimVolume(sql, { id, state: 'deleting' }, claim);
    return { intent: known };
  }

  return {
    find,
    get,

    async create(cluster, id, { name, ...asked }) {
      requireOwnNew(cluster, id);
      checkRange(asked);
      checkCapabilities(backend, asked.capabilities);
      const spec = { ...asked, parameters: checkParameters(backend, asked.parameters) };
      const asNew: VolumeRecord = {
        id,
        cluster,
        name,
        spec,
        state: 'creating',
        sizeBytes: 0,
        context: {},
        createdAtMs: Date.now(),
        claim: undefined,
      };
      const { record, created } = await work.run<VolumeRecord, CreatedVolume, Made>({
        volumeId: id,
        operation: 'create',
        subject: { name, spec },
        intend: (sql, claim) => intendCreate(sql, asNew, claim),
        act: intent => makeWithin(backend, intent),
        async succeed(sql, { intent, effect: { sizeBytes, context = {} } }) {
          const made: VolumeRecord = { ...intent, state: 'ready', sizeBytes, context };
          requireHeld(await finishVolume(sql, made, work.owner), id);
          return { record: made, created: true };
        },
        async fail(sql, { problem }) {
          if (problemTable[problem.code].final) requireHeld(await removeVolume(sql, id, work.owner), id);
          else await releaseVolume(sql, { id, state: 'creating' }, work.owner);
        },
      });
      requireFitting(record, asNew);
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

    async validate(cluster, id, { capabilities, parameters, context }) {
      const volume = await get(cluster, id);
      try {
        checkCapabilities(backend, capabilities);
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
        volumeId: id,
        operation: 'delete',
        subject: undefined,
        intend: (sql, claim) => intendDelete(sql, id, claim),
        act: () => backend.delete({ id }),
        succeed: async sql => requireHeld(await removeVolume(sql, id, work.owner), id),
        async fail(sql, { intent, problem }) {
          const refused = problem.code === 'FAILED_PRECONDITION';
          await releaseVolume(sql, { id, state: refused ? intent.state : 'deleting' }, work.owner);
        },
      });
    },
  };
}

type Made = { readonly record: VolumeRecord; readonly created: boolean };

/** NOT_FOUND for another cluster's id, as for one that is nowhere; INVALID_ARGUMENT for what can be no id. */
function requireOwnNew(cluster: string, id: string): void {
  const owner = clusterOf(id);
  if (owner === undefined)
    throw new Problem('INVALID_ARGUMENT', `"${id}" is not a volume id such as "${cluster}.name"`);
  if (owner !== cluster) throw notFound(id);
}

/** What the recorded volume was asked to be must be what is asked now; its size is compared once it is made. */
function requireSame(known: VolumeRecord, asked: VolumeRecord): void {
  if (known.name !== asked.name)
    throw new Problem('ALREADY_EXISTS', `volume "${known.id}" is there with the name "${known.name}"`);
  if (!sameJson(known.spec.parameters, asked.spec.parameters))
    throw new Problem('ALREADY_EXISTS', `volume "${known.id}" is there with other parameters`);
}

/** A volume of a size outside the bounds is never reported as made, whoever made it. */
async function makeWithin(backend: Backend, { id, spec }: VolumeRecord): Promise<CreatedVolume> {
  const { requiredBytes = 0, limitBytes = 0, parameters = {}, capabilities } = spec;
  const made = await backend.create({ id, requiredBytes, limitBytes, parameters, capabilities });
  if (!fits(made.sizeBytes, spec))
    throw new Problem(
      'UNAVAILABLE',
      `the storage made volume "${id}" with ${made.sizeBytes} bytes, which was not asked for`,
    );
  return made;
}

function requireFitting({ id, sizeBytes }: VolumeRecord, { spec }: VolumeRecord): void {
  if (!fits(sizeBytes, spec))
    throw new Problem(
      'ALREADY_EXISTS',
      `volume "${id}" is there with ${sizeBytes} bytes, outside of the size asked for`,
    );
}

function fits(sizeBytes: number, { requiredBytes = 0, limitBytes = 0 }: RecordedSpec): boolean {
  return (
    Number.isSafeInteger(sizeBytes) &&
    sizeBytes >= requiredBytes &&
    (limitBytes === 0 || sizeBytes <= limitBytes)
  );
}

function notFound(id: string): Problem {
  return new Problem('NOT_FOUND', `there is no volume "${id}"`);
}

function toVolume(record: VolumeRecord, attachments: readonly AttachmentRecord[]): Volume {
  const { id, name, state, sizeBytes, spec, context, createdAtMs } = record;
  return {
    id,
    name,
    state,
    sizeBytes,
    parameters: spec.parameters ?? {},
    context: { ...context },
    attachments: attachments.map(({ nodeId, state: attached, readonly }) => ({
      nodeId,
      readonly,
      state: attached,
    })),
    createdAt: new Date(createdAtMs).toISOString(),
  };
}
