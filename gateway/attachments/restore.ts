import { readAccess } from './record.ts';
import type { AttachedVolume } from '../backend.ts';
import type { Pool } from '../pools/pools.ts';
import type { Reader } from '../store.ts';
import { type AttachmentRecord, attachmentTable } from '../tables/attachments.ts';
import { readAllInPieces } from '../tables/paging.ts';
import { findVolume } from '../tables/volumes.ts';
import { toKnownVolume } from '../volumes/record.ts';

/** Lets the backend admit exactly the nodes that have a volume of the pool attached by the store. */
export async function restoreAttachments(reader: Reader, { name, backend }: Pool): Promise<void> {
  await backend.restore?.(listAttached(reader, name));
}

const order = ['volumeId', 'cluster', 'nodeId'] as const;
const beforeAll = { volumeId: '', cluster: '', nodeId: '' };

/**
 * Lists the attachments. One that is being attached is included, because it may be admitted already; one that
 * is being detached is not.
 */
async function* listAttached(reader: Reader, pool: string): AsyncGenerator<AttachedVolume> {
  const all = readAllInPieces<AttachmentRecord>((last, limit) =>
    attachmentTable.selectAfter(reader, {}, { order, last: last ?? beforeAll, limit }),
  );
  for await (const record of all) {
    const { volumeId, reach, state } = record;
    const volume = state === 'detaching' ? undefined : await findVolume(reader, volumeId);
    if (volume?.pool !== pool) continue;
    yield { volume: toKnownVolume(volume), access: await readAccess(reader, record, volume), reach };
  }
}
