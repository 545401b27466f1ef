import type { Reach } from '../../src/api/attachment.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { Reader, Sql } from '../store.ts';
import { clockTable } from './clock.ts';
import { boolean, integer, json, optional, table, text, type RecordOf } from './table.ts';

const columns = {
  volumeId: { ...text(), type: 'text not null references volumes (id)' },
  cluster: text(),
  nodeId: text(),
  attachmentId: text(),
  state: text<'attaching' | 'attached' | 'detaching'>(),
  capability: json<Capability>(),
  readonly: boolean(),
  /** It is there once the volume was attached. */
  reach: optional(json<Reach>()),
  /** The volume's size when it was attached. */
  sizeBytes: optional(integer()),
};

/** A volume that is being attached to a node, is attached, or is being detached. */
export type AttachmentRecord = RecordOf<typeof columns>;

/** The attachments of all volumes. */
export const attachmentTable = table('attachments', {
  key: ['volumeId', 'cluster', 'nodeId'],
  columns,
  indexes: [
    'attachments_by_node on attachments (cluster, node_id)',
    `attachments_unfinished on attachments (volume_id) where state <> 'attached'`,
  ],
});

/** All attachments of one volume, over all clusters. */
export function findAttachments(sql: Reader, volumeId: string): Promise<readonly AttachmentRecord[]> {
  return attachmentTable.select(sql, { volumeId }, 'order by node_id');
}

/** The attachments of volumes that follow one another by id, by these. */
export async function findAttachmentsOf(
  sql: Reader,
  volumes: readonly { readonly id: string }[],
): Promise<ReadonlyMap<string, readonly AttachmentRecord[]>> {
  const [first, last] = [volumes[0], volumes.at(-1)];
  if (!first || !last) return new Map();
  const between = 'and volume_id between ? and ? order by volume_id, node_id';
  const found = await attachmentTable.select(sql, {}, between, first.id, last.id);
  return Map.groupBy(found, ({ volumeId }) => volumeId);
}

/** When an attachment was made, as nodes are told; the name is of volumes that share a row. */
type AttachmentTime = { readonly name: string; readonly seenMs: number };

/** How many rows hold the newest times: two volumes that share one only wait for each other. */
const timeRows = 64;

/**
 * By the store's clock, and later than what was noted for the volume before, whatever became of the clock since; so, too, for
 * one that had the same id.
 */
export async function findNextTime(sql: Sql, volumeId: string): Promise<AttachmentTime> {
  const sum = Array.from(volumeId).reduce((total, letter) => total + (letter.codePointAt(0) ?? 0), 0);
  const name = `attachments ${sum % timeRows}`;
  const [nowMs, last] = await Promise.all([sql.now(), clockTable.find(sql, { name })]);
  return { name, seenMs: Math.max(nowMs, (last?.seenMs ?? 0) + 1) };
}

/** Notes that an attachment was made then, unless another one was made later. */
export async function noteAttachmentTime(sql: Sql, time: AttachmentTime): Promise<void> {
  await sql.write(...clockTable.putting(time, 'where clock.seen_ms < excluded.seen_ms'));
}

/** The node for messages, with its cluster where that is not the volume's own. */
export function nodeName(
  { nodeId, cluster }: Pick<AttachmentRecord, 'nodeId' | 'cluster'>,
  of: { readonly cluster: string },
): string {
  return cluster === of.cluster ? `"${nodeId}"` : `"${nodeId}" of cluster "${cluster}"`;
}

/** Which volumes are attached to the node, or being attached or detached, by id. */
export async function listVolumesOnNode(
  sql: Reader,
  { cluster, nodeId }: Pick<AttachmentRecord, 'cluster' | 'nodeId'>,
): Promise<readonly string[]> {
  // Every attaching to a node with a limit asks: to read whole attachments costs four times as much.
  const query = 'select volume_id from attachments where cluster = ? and node_id = ? order by volume_id';
  return (await sql.all(query, cluster, nodeId)).map(row => String(row.volume_id));
}
