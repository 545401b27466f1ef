import type { Reach } from '../../src/api/attachment.ts';
import { clusterOf, readNodeId } from '../../src/api/ids.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { Reader, Sql } from '../store.ts';
import { clockTable } from './clock.ts';
import { countAtNode, partOf } from './counts.ts';
import type { NodeKey } from './nodes.ts';
import type { IdRange } from './paging.ts';
import { boolean, integer, json, optional, table, text, type RecordOf } from './table.ts';

const columns = {
  volumeId: { ...text(), type: 'text not null references volumes (id)' },
  cluster: text(),
  nodeId: text(),
  attachmentId: text(),
  state: text<'attaching' | 'attached' | 'detaching'>(),
  capability: json<Capability>(),
  readonly: boolean(),
  /** Undefined until the volume has been attached. */
  reach: optional(json<Reach>()),
  /** The volume's size when it was attached. */
  sizeBytes: optional(integer()),
  /** The volume's pool and its turn there (see `trimEndAt`); undefined for a volume that its node does not trim. */
  trimPool: optional(text()),
  trimTurn: optional(integer()),
};

/** A volume that is being attached to a node, is attached, or is being detached. */
export type AttachmentRecord = RecordOf<typeof columns>;

/** The attachments whose nodes may replay a journal. */
const isReplaying = `reach like '%"mayReplay":true%'`;

const ofNodes: readonly string[] = [
  'attachments_by_cluster on attachments (cluster, node_id, volume_id)',
  'attachments_by_node on attachments (node_id, cluster, volume_id)',
  'attachments_writing on attachments (volume_id, cluster, node_id) where readonly = 0',
  `attachments_replaying on attachments (volume_id, cluster, node_id) where ${isReplaying}`,
];

const byTurn = 'attachments_by_turn on attachments (trim_pool, trim_turn) where trim_turn is not null';

/** Adds turns of trimming to the table of an older store. */
export const addTurns: readonly string[] = [
  'alter table attachments add column trim_pool text',
  'alter table attachments add column trim_turn bigint',
  `create unique index ${byTurn}`,
];

/** Adds the indexes to the table of an older store. */
export const indexAttachments: readonly string[] = [
  'drop index if exists attachments_by_node',
  ...ofNodes.map(index => `create index ${index}`),
];

export const attachmentTable = table('attachments', {
  key: ['volumeId', 'cluster', 'nodeId'],
  columns,
  indexes: [...ofNodes, `attachments_unfinished on attachments (volume_id) where state <> 'attached'`],
  unique: [byTurn],
});

/**
 * The short columns of the same table. A volume may have a thousand attachments, and reading whole records
 * takes ten times as long.
 */
const shownTable = table('attachments', {
  key: ['volumeId', 'cluster', 'nodeId'],
  columns: {
    volumeId: columns.volumeId,
    cluster: columns.cluster,
    nodeId: columns.nodeId,
    attachmentId: columns.attachmentId,
    state: columns.state,
    readonly: columns.readonly,
  },
});

export type ShownAttachment = Pick<
  AttachmentRecord,
  'volumeId' | 'cluster' | 'nodeId' | 'attachmentId' | 'state' | 'readonly'
>;

/** Finds all attachments of one volume to nodes of the cluster, or of every cluster if none is given. */
export function findAttachments(
  sql: Reader,
  volumeId: string,
  cluster?: string,
): Promise<readonly ShownAttachment[]> {
  const of = cluster === undefined ? {} : { cluster };
  return shownTable.select(sql, { volumeId, ...of }, 'order by cluster, node_id');
}

/** Returns at most `limit` attachments of one volume to the cluster's nodes, by node id after `afterNodeId`. */
export function listAttachments(
  sql: Reader,
  own: Pick<AttachmentRecord, 'volumeId' | 'cluster'>,
  { afterNodeId, limit }: { readonly afterNodeId: string; readonly limit: number },
): Promise<readonly ShownAttachment[]> {
  return shownTable.select(sql, own, 'and node_id > ? order by node_id limit ?', afterNodeId, limit);
}

export function findSomeAttachments(
  sql: Reader,
  volumeId: string,
  limit: number,
): Promise<readonly AttachmentRecord[]> {
  return attachmentTable.select(sql, { volumeId }, 'order by cluster, node_id limit ?', limit);
}

/** Numbers of attachments: `ofVolume` counts either the owner's nodes or all other nodes. */
export type AttachmentCounts = { readonly ofVolume: number; readonly ofCluster: number };

/**
 * Counts the attachments of the cluster and of the volume. For the owner, the volume's attachments to its own
 * nodes count; for any other cluster, those to all nodes but the owner's. So grantees cannot use up the
 * owner's limit.
 */
export async function countAttachments(
  sql: Reader,
  { volumeId, cluster }: Pick<AttachmentRecord, 'volumeId' | 'cluster'>,
): Promise<AttachmentCounts> {
  const owner = clusterOf(volumeId) ?? '';
  const side = cluster === owner ? '=' : '<>';
  const ofVolume = `select count(*) from attachments where volume_id = ? and cluster ${side} ?`;
  const ofCluster = `select sum(number) from counts where cluster = ? and kind = 'attachments'`;
  const counting = `select (${ofVolume}) as of_volume, (${ofCluster}) as of_cluster`;
  const [row] = await sql.all(counting, volumeId, owner, cluster);
  return { ofVolume: Number(row?.of_volume ?? 0), ofCluster: Number(row?.of_cluster ?? 0) };
}

export function findUnfinishedAttachments(
  sql: Reader,
  volumeId: string,
): Promise<readonly AttachmentRecord[]> {
  return attachmentTable.select(sql, { volumeId }, "and state <> 'attached' order by cluster, node_id");
}

/** Returns true when a node can write to the volume, is about to, or could have. */
export async function isWritable(sql: Reader, volumeId: string): Promise<boolean> {
  const writing = 'select 1 from attachments where volume_id = ? and readonly = 0 limit 1';
  return (await sql.all(writing, volumeId)).length > 0;
}

/**
 * From this number of nodes on, a few attachments are enough to decide, because all nodes of such a volume have compatible modes.
 */
const fewNodes = 20;

/**
 * Finds the attachments that decide whether the node may have the volume: the node's own, and so many of
 * other nodes that if none of them conflicts, no attachment does. Existing attachments never conflict with
 * each other: of three or more, all have modes for several nodes, and of two or more writers, all have modes
 * for several writers.
 */
export async function findDecisiveAttachments(
  sql: Reader,
  { volumeId, cluster, nodeId }: Pick<AttachmentRecord, 'volumeId' | 'cluster' | 'nodeId'>,
): Promise<readonly AttachmentRecord[]> {
  const some = await findSomeAttachments(sql, volumeId, fewNodes);
  if (some.length < fewNodes) return some;
  const writing = 'and readonly = 0 order by cluster, node_id limit ?';
  const forSeveral = `and capability not like '%"MULTI_NODE_SINGLE_WRITER"%' order by cluster, node_id limit ?`;
  const replaying = `and ${isReplaying} order by cluster, node_id limit ?`;
  const found = await Promise.all([
    attachmentTable.select(sql, { volumeId, cluster, nodeId }),
    attachmentTable.select(sql, { volumeId }, writing, fewNodes),
    attachmentTable.select(sql, { volumeId }, forSeveral, fewNodes),
    attachmentTable.select(sql, { volumeId }, replaying, fewNodes),
  ]);
  return [...found.flat(), ...some];
}

/** Finds the smallest turn of the pool in the range `[first, end)` that no attachment has; undefined if all are taken. */
export async function findFreeTurn(
  sql: Reader,
  pool: string,
  [first, end]: readonly [first: number, end: number],
): Promise<number | undefined> {
  const [row] = await sql.all(
    `select min(turn) as turn from (
       select cast(? as bigint) as turn
       union all select trim_turn + 1 from attachments where trim_pool = ? and trim_turn >= ? and trim_turn < ?
     ) as candidates
     where turn < ? and not exists (
       select 1 from attachments as taken where taken.trim_pool = ? and taken.trim_turn = candidates.turn
     )`,
    first,
    pool,
    first,
    end,
    end,
    pool,
  );
  const turn = row?.turn ?? undefined;
  return turn === undefined ? undefined : Number(turn);
}

/** Adds an attachment that is not recorded yet, and counts it. */
export async function addAttachment(sql: Sql, attachment: AttachmentRecord): Promise<void> {
  await attachmentTable.replace(sql, attachment);
  await countAtNode(sql, 'attachments', { ...attachment, change: 1 });
}

/** Removes a recorded attachment and counts one less. */
export async function removeAttachment(sql: Sql, attachment: AttachmentRecord): Promise<void> {
  await attachmentTable.remove(sql, attachment);
  await countAtNode(sql, 'attachments', { ...attachment, change: -1 });
}

/**
 * A piece of the attachments of several volumes: those after `last`, at the cluster's nodes, or at all nodes
 * if `cluster` is undefined.
 */
type AttachmentsPiece = {
  readonly cluster: string | undefined;
  readonly last: ShownAttachment | undefined;
  readonly limit: number;
};

/** Returns at most `limit` attachments of these volumes, by volume, cluster and node. */
export function listAttachmentsOf(
  sql: Reader,
  volumeIds: readonly string[],
  { cluster, last, limit }: AttachmentsPiece,
): Promise<readonly ShownAttachment[]> {
  const { volumeId = '', cluster: lastCluster = '', nodeId = '' } = last ?? {};
  const ids = volumeIds.filter(id => id >= volumeId);
  const these = `and volume_id in (${ids.map(() => '?').join(', ')})`;
  const after = 'and (volume_id <> ? or (cluster, node_id) > (?, ?))';
  const tail = `${these} ${after} order by volume_id, cluster, node_id limit ?`;
  const of = cluster === undefined ? {} : { cluster };
  return shownTable.select(sql, of, tail, ...ids, volumeId, lastCluster, nodeId, limit);
}

/** The time of an attachment that nodes compare. `name` is the row, which several volumes share. */
type AttachmentTime = { readonly name: string; readonly seenMs: number };

/** The number of rows for the newest times. Two volumes that share a row only wait for each other. */
const timeRows = 64;

/**
 * Finds the time of the volume's next attachment: the store's time, but always later than the last one noted
 * for the volume's row, even if the clock went back, and even for an earlier volume with the same id.
 */
export async function findNextTime(sql: Sql, volumeId: string): Promise<AttachmentTime> {
  const name = `attachments ${partOf(volumeId, timeRows)}`;
  const [nowMs, last] = await Promise.all([sql.now(), clockTable.find(sql, { name })]);
  return { name, seenMs: Math.max(nowMs, (last?.seenMs ?? 0) + 1) };
}

/** Notes the time of an attachment, unless a later one is noted. */
export async function noteAttachmentTime(sql: Sql, time: AttachmentTime): Promise<void> {
  await sql.write(...clockTable.putting(time, 'where clock.seen_ms < excluded.seen_ms'));
}

/** Names the node in messages, with its cluster if that is not the volume's own. */
export function nodeName({ nodeId, cluster }: NodeKey, of: { readonly cluster: string }): string {
  return cluster === of.cluster ? `"${nodeId}"` : `"${nodeId}" of cluster "${cluster}"`;
}

/**
 * Returns at most `limit` volumes after `afterId` that are attached, or being attached or detached, at the
 * node, by id.
 */
export async function listVolumesOnNode(
  sql: Reader,
  { cluster, nodeId }: NodeKey,
  { afterId, limit }: IdRange,
): Promise<readonly string[]> {
  const query = `select volume_id from attachments where cluster = ? and node_id = ? and volume_id > ?
    order by volume_id limit ?`;
  const rows = await sql.all(query, cluster, nodeId, afterId, limit);
  return rows.map(row => String(row.volume_id));
}

/** The number of characters of `~` and a key after a node's name. */
const keyLength = 44;

/** Finds an attachment of a node with the same name and another key or no key. */
export async function findUnderOtherKey(
  sql: Reader,
  { cluster, nodeId }: NodeKey,
): Promise<Pick<AttachmentRecord, 'volumeId' | 'nodeId'> | undefined> {
  const { name } = readNodeId(nodeId);
  const length = Array.from(name).length + keyLength;
  // All ids with a key are between these bounds, and so are longer names with the same start.
  const [first, end] = [`${name}~`, `${name}\u007F`];
  // The ranges leave out the node itself, because it may have many attachments.
  const ranges = [
    [first, nodeId],
    [nodeId > first ? nodeId : first, end],
  ];
  const ofCluster = 'select node_id, volume_id from attachments where cluster = ?';
  const inRange = `${ofCluster} and node_id > ? and node_id < ? and length(node_id) = ?`;
  const [row] = await sql.all(
    `${ofCluster} and node_id = ? union all ${ranges.map(() => inRange).join(' union all ')} limit 1`,
    cluster,
    nodeId === name ? '' : name,
    ...ranges.flatMap(([from = '', to = '']) => [cluster, from, to, length]),
  );
  return row && { nodeId: String(row.node_id), volumeId: String(row.volume_id) };
}
