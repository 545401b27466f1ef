import type { Volume } from '../../src/api/volume.ts';
import type { Reader } from '../store.ts';
import { findAttachments, findAttachmentsOf } from '../tables/attachments.ts';
import { findGrants, type GrantRecord, listGrants } from '../tables/tenancy/grants.ts';
import { findVolume, listVolumes, type VolumeRecord } from '../tables/volumes.ts';
import { toVolume } from './record.ts';

/** The volume as its owner sees it, or as the cluster does that has the grant. */
export async function showVolume(reader: Reader, record: VolumeRecord, grant?: GrantRecord): Promise<Volume> {
  const attachments = await findAttachments(reader, record.id);
  if (grant) return toVolume(record, attachments, { viewer: grant.cluster, grants: [grant] });
  return toVolume(record, attachments, record.shared ? { grants: await grantsOf(reader, record) } : {});
}

/** At most `limit` of the cluster's volumes, and of those that are shared with it, whose ids come after `afterId`, by id. */
export async function showVolumes(
  reader: Reader,
  query: Parameters<typeof listVolumes>[1],
): Promise<readonly Volume[]> {
  const records = await listVolumes(reader, query);
  const attachments = await findAttachmentsOf(reader, records);
  const volumes: Volume[] = [];
  for (const record of records)
    volumes.push(
      toVolume(record, attachments.get(record.id) ?? [], { grants: await grantsOf(reader, record) }),
    );
  for (const grant of await listGrants(reader, query)) {
    const record = await findVolume(reader, grant.volumeId);
    if (record) volumes.push(await showVolume(reader, record, grant));
  }
  return volumes.sort((one, other) => (one.id < other.id ? -1 : 1)).slice(0, query.limit);
}

/** With whom the volume is shared. */
export async function grantsOf(
  reader: Reader,
  { id, shared }: VolumeRecord,
): Promise<readonly GrantRecord[]> {
  return shared ? findGrants(reader, id) : [];
}
