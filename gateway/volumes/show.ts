import type { Volume } from '../../src/api/volume.ts';
import type { ServiceOptions } from '../operations/service-options.ts';
import { findAttachments, listAttachmentsOf, type ShownAttachment } from '../tables/attachments.ts';
import {
  type AcceptedGrants,
  findGrants,
  type GrantRecord,
  listGrants,
  listGrantsOf,
} from '../tables/grants.ts';
import { readAllInPieces } from '../tables/paging.ts';
import { findVolume, listVolumes, type VolumeRecord } from '../tables/volumes.ts';
import { findEntry, isAccepted } from '../callers/access.ts';
import type { EnrolledClusters } from '../callers/cluster.ts';

type ShowOptions = Pick<ServiceOptions, 'engine' | 'clusters'>;

/** Facts about a volume that are already read: a cluster's grant of it, and the attachments of that cluster. */
type KnownRelations = {
  readonly grant?: GrantRecord | undefined;
  readonly attachments?: readonly ShownAttachment[] | undefined;
};

type KnownGrant = Pick<GrantRecord, 'cluster' | 'access'> & { readonly isAccepted: boolean };

/** The cluster that looks at a volume, and the grants. The default is the owner of a volume without grants. */
type Viewer = { readonly viewer?: string; readonly grants?: readonly KnownGrant[] };

/** Shows a volume as the API does: with the viewer's own attachments, and to its owner with the grants. */
export function toVolume(
  record: VolumeRecord,
  attachments: readonly ShownAttachment[],
  { viewer = record.cluster, grants = [] }: Viewer = {},
): Volume {
  const { id, name, pool, state, sizeBytes, spec, source, context, createdAtMs } = record;
  const { mutableParameters, nodeExpansionRequired, pending, segments } = record;
  const unfinished = (['expansion', 'modification'] as const).filter(kind => pending[kind]);
  return {
    id,
    name,
    pool,
    // Clusters do not see soft-deleted volumes.
    state: state === 'deleted' ? 'deleting' : state,
    sizeBytes,
    parameters: spec.parameters ?? {},
    context: { ...context },
    attachments: attachments
      .filter(({ cluster }) => cluster === viewer)
      .map(({ nodeId, readonly, state: now }) => ({ nodeId, readonly, state: now })),
    createdAt: new Date(createdAtMs).toISOString(),
    ...(source && { source }),
    ...(Object.keys(mutableParameters).length > 0 && { mutableParameters: { ...mutableParameters } }),
    ...(nodeExpansionRequired && { nodeExpansionRequired }),
    ...(unfinished.length > 0 && { pending: unfinished }),
    ...(segments && { topology: [segments] }),
    ...toSharing(record.cluster, viewer, grants),
  };
}

function toSharing(
  owner: string,
  viewer: string,
  grants: readonly KnownGrant[],
): Pick<Volume, 'owner' | 'access' | 'grants'> {
  if (viewer !== owner) return { owner, access: grants.find(({ cluster }) => cluster === viewer)?.access };
  const shown = grants.map(grant => ({
    cluster: grant.cluster,
    access: grant.access,
    ...(!grant.isAccepted && { isAccepted: false as const }),
  }));
  return shown.length === 0 ? {} : { grants: shown };
}

/** Shows the volume as its owner sees it, or, with a grant, as the grantee does. */
export async function showVolume(
  options: ShowOptions,
  record: VolumeRecord,
  { grant, ...known }: KnownRelations = {},
): Promise<Volume> {
  const viewer = grant?.cluster ?? record.cluster;
  const attachments = known.attachments ?? (await findAttachments(options.engine.reader, record.id, viewer));
  if (!grant) return toVolume(record, attachments, { grants: await grantsOf(options, record) });
  return toVolume(record, attachments, { viewer, grants: [{ ...grant, isAccepted: true }] });
}

/** Runs a piece of work in its own time slice. */
type SliceRunner = <T>(piece: () => Promise<T>) => Promise<T>;

/**
 * Yields at most `limit` volumes that the cluster sees, by id after `afterId`. A time slice reads a bounded
 * number of rows, however many attachments and grants the volumes have.
 */
export async function* showVolumes(
  options: ShowOptions,
  query: AcceptedGrants,
  take: SliceRunner,
): AsyncGenerator<Volume, void> {
  const { cluster } = query;
  const visible = await take(() => listVisible(options, query));
  const records = visible.map(({ record }) => record);
  const readRelations = createRelations(options, records, { cluster, take });
  for (const { record, grant } of visible) {
    const { attachments, grants } = await readRelations(record);
    yield grant
      ? toVolume(record, attachments, { viewer: cluster, grants: [{ ...grant, isAccepted: true }] })
      : toVolume(record, attachments, { grants });
  }
}

type VisibleVolume = { readonly record: VolumeRecord; readonly grant?: GrantRecord };

/** Returns at most `limit` volumes that the cluster owns or has accepted, by id. */
async function listVisible(
  { engine: { reader } }: ShowOptions,
  query: AcceptedGrants,
): Promise<readonly VisibleVolume[]> {
  const visible: VisibleVolume[] = (await listVolumes(reader, query)).map(record => ({ record }));
  for (const grant of await listGrants(reader, query)) {
    const record = await findVolume(reader, grant.volumeId);
    if (record) visible.push({ record, grant });
  }
  return visible.sort((one, other) => (one.record.id < other.record.id ? -1 : 1)).slice(0, query.limit);
}

/** The maximum number of attachments, or grants, that one time slice reads. */
const rowsPerSlice = 250;

/**
 * Returns a function that reads the attachments and grants of a volume. Call it for the volumes in the order
 * of their ids. With a cluster, it reads only attachments to the cluster's nodes and grants of the cluster's
 * own volumes.
 */
export function createRelations(
  { engine: { reader }, clusters }: ShowOptions,
  volumes: readonly VolumeRecord[],
  { cluster, take }: { readonly cluster?: string; readonly take: SliceRunner },
) {
  const shared = volumes.filter(one => one.shared && one.cluster === (cluster ?? one.cluster));
  const nextAttachments = createRows<ShownAttachment>(volumes, (ids, last, limit) =>
    take(() => listAttachmentsOf(reader, ids, { cluster, last, limit })),
  );
  const nextGrants = createRows<GrantRecord>(shared, (ids, last, limit) =>
    take(() => listGrantsOf(reader, ids, { last, limit })),
  );
  return async ({ id }: VolumeRecord) => ({
    attachments: await nextAttachments(id),
    grants: (await nextGrants(id)).map(grant => toKnownGrant(clusters, grant)),
  });
}

type ReadRows<R> = (ids: readonly string[], last: R | undefined, limit: number) => Promise<readonly R[]>;

/**
 * Returns a function that reads the rows of a volume. Call it for the volumes in their order; `read` must
 * order the rows by volume.
 */
function createRows<R extends { readonly volumeId: string }>(
  volumes: readonly VolumeRecord[],
  read: ReadRows<R>,
) {
  const ids = volumes.map(({ id }) => id);
  const rows = readAllInPieces<R>((last, limit) => read(ids, last, limit), rowsPerSlice);
  let next: IteratorResult<R, void> | undefined;
  return async (volumeId: string): Promise<readonly R[]> => {
    const own: R[] = [];
    if (ids.length === 0) return own;
    next ??= await rows.next();
    for (; !next.done && next.value.volumeId === volumeId; next = await rows.next()) own.push(next.value);
    return own;
  };
}

async function grantsOf(
  { engine, clusters }: ShowOptions,
  { id, shared }: VolumeRecord,
): Promise<readonly KnownGrant[]> {
  const grants = shared ? await findGrants(engine.reader, id) : [];
  return grants.map(grant => toKnownGrant(clusters, grant));
}

function toKnownGrant(clusters: EnrolledClusters, grant: GrantRecord): KnownGrant {
  const { cluster, access, volumeId } = grant;
  return { cluster, access, isAccepted: isAccepted(volumeId, grant, findEntry(clusters, cluster) ?? {}) };
}
