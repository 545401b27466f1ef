import type { Reach } from '../../src/api/attachment.ts';
import type { Capability } from '../../src/api/storage.ts';
import type { Reader, Sql, SqlRow, SqlValue } from '../store.ts';

/** A volume on its way to a node, on it, or on its way off. `reach` is there once the way was open. */
export type AttachmentRecord = AttachmentId & {
  readonly attachmentId: string;
  readonly state: 'attaching' | 'attached' | 'detaching';
  readonly capability: Capability;
  readonly readonly: boolean;
  readonly reach: Reach | undefined;
  /** The volume's size when it was attached; undefined where that was not recorded. */
  readonly sizeBytes: number | undefined;
};

/** Names one attachment. */
export type AttachmentId = { readonly volumeId: string; readonly cluster: string; readonly nodeId: string };

/** All attachments of one volume, over all clusters. */
export async function findAttachments(sql: Reader, volumeId: string): Promise<readonly AttachmentRecord[]> {
  const rows = await sql.all('select * from attachments where volume_id = ? order by node_id', volumeId);
  return rows.map(toAttachment);
}

/** The attachments of all volumes of a cluster from one id to another, both included. */
export async function listAttachments(
  sql: Reader,
  { firstId, lastId }: { firstId: string; lastId: string },
): Promise<readonly AttachmentRecord[]> {
  const rows = await sql.all(
    'select * from attachments where volume_id between ? and ? order by volume_id, node_id',
    firstId,
    lastId,
  );
  return rows.map(toAttachment);
}

/** Which volumes are attached to the node or on their way, by id. */
export async function listVolumesOnNode(
  sql: Reader,
  node: Pick<AttachmentId, 'cluster' | 'nodeId'>,
): Promise<readonly string[]> {
  const rows = await sql.all(
    'select volume_id from attachments where cluster = ? and node_id = ? order by volume_id',
    node.cluster,
    node.nodeId,
  );
  return rows.map(row => String(row.volume_id));
}

/** Records the attachment, in place of what was recorded for the same volume and node. */
export async function putAttachment(sql: Sql, attachment: AttachmentRecord): Promise<void> {
  const { attachmentId, state, capability, reach, sizeBytes } = attachment;
  await sql.run(
    `insert into attachments (volume_id, cluster, node_id, attachment_id, state, capability, readonly, reach,
       size_bytes)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?)
     on conflict (volume_id, cluster, node_id) do update set attachment_id = excluded.attachment_id,
       state = excluded.state, capability = excluded.capability, readonly = excluded.readonly,
       reach = excluded.reach, size_bytes = excluded.size_bytes`,
    ...attachmentKey(attachment),
    attachmentId,
    state,
    JSON.stringify(capability),
    attachment.readonly ? 1 : 0,
    reach ? JSON.stringify(reach) : null,
    sizeBytes ?? null,
  );
}

/** Forgets the attachment. */
export async function removeAttachment(sql: Sql, attachment: AttachmentId): Promise<void> {
  await sql.run(
    'delete from attachments where volume_id = ? and cluster = ? and node_id = ?',
    ...attachmentKey(attachment),
  );
}

function attachmentKey({ volumeId, cluster, nodeId }: AttachmentId): readonly SqlValue[] {
  return [volumeId, cluster, nodeId];
}

function toAttachment(row: SqlRow): AttachmentRecord {
  return {
    volumeId: String(row.volume_id),
    cluster: String(row.cluster),
    nodeId: String(row.node_id),
    attachmentId: String(row.attachment_id),
    state: row.state as AttachmentRecord['state'],
    capability: JSON.parse(String(row.capability)) as Capability,
    readonly: row.readonly === 1,
    reach: row.reach === null ? undefined : (JSON.parse(String(row.reach)) as Reach),
    sizeBytes: row.size_bytes === null ? undefined : Number(row.size_bytes),
  };
}
