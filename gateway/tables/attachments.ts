import type { Reach } from '../../src/api/attachment.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { Reader } from '../store.ts';
import { boolean, integer, json, optional, table, text } from './table.ts';

/** Names one attachment. */
export type AttachmentId = { readonly volumeId: string; readonly cluster: string; readonly nodeId: string };

/** A volume that is being attached to a node, is attached, or is being detached. `reach` is there once it was attached. */
export type AttachmentRecord = AttachmentId & {
  readonly attachmentId: string;
  readonly state: 'attaching' | 'attached' | 'detaching';
  readonly capability: Capability;
  readonly readonly: boolean;
  readonly reach: Reach | undefined;
  /** The volume's size when it was attached. */
  readonly sizeBytes: number | undefined;
};

/** The attachments of all volumes. */
export const attachmentTable = table<AttachmentRecord, keyof AttachmentId>('attachments', {
  key: ['volumeId', 'cluster', 'nodeId'],
  columns: {
    volumeId: text('volume_id'),
    cluster: text('cluster'),
    nodeId: text('node_id'),
    attachmentId: text('attachment_id'),
    state: text('state'),
    capability: json('capability'),
    readonly: boolean('readonly'),
    reach: optional(json('reach')),
    sizeBytes: optional(integer('size_bytes')),
  },
});

/** All attachments of one volume, over all clusters. */
export function findAttachments(sql: Reader, volumeId: string): Promise<readonly AttachmentRecord[]> {
  return attachmentTable.select(sql, 'where volume_id = ? order by node_id', volumeId);
}

/** The attachments of all volumes from one id to another, both included. */
export function listAttachments(
  sql: Reader,
  { firstId, lastId }: { readonly firstId: string; readonly lastId: string },
): Promise<readonly AttachmentRecord[]> {
  return attachmentTable.select(
    sql,
    'where volume_id between ? and ? order by volume_id, node_id',
    firstId,
    lastId,
  );
}

/** Which volumes are attached to the node, or being attached or detached, by id. */
export async function listVolumesOnNode(
  sql: Reader,
  { cluster, nodeId }: Pick<AttachmentId, 'cluster' | 'nodeId'>,
): Promise<readonly string[]> {
  const rows = await sql.all(
    'select volume_id from attachments where cluster = ? and node_id = ? order by volume_id',
    cluster,
    nodeId,
  );
  return rows.map(row => String(row.volume_id));
}
