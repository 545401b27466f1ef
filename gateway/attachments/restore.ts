import type { AttachedVolume } from '../backend.ts';
import type { Pool } from '../pools/pools.ts';
import type { Reader } from '../store.ts';
import { attachmentTable } from '../tables/attachments.ts';
import { nodeTable } from '../tables/nodes.ts';
import { findVolume } from '../tables/volumes.ts';
import { toKnownVolume } from '../volumes/record.ts';

/** Has the pool's backend let in again whoever has a volume of it by the store, and nobody else. */
export async function restoreAttachments(reader: Reader, { name, backend }: Pool): Promise<void> {
  await backend.restore?.(listAttached(reader, name));
}

/** What is being attached is among them: it may be let in already. What is being detached is not. */
async function* listAttached(reader: Reader, pool: string): AsyncGenerator<AttachedVolume> {
  const inPool = `and volume_id in (select id from volumes where pool = ?) and state <> 'detaching'`;
  for (const record of await attachmentTable.select(reader, {}, `${inPool} order by volume_id`, pool)) {
    const { volumeId, nodeId, cluster, attachmentId, capability, readonly, reach } = record;
    const volume = await findVolume(reader, volumeId);
    if (!volume) continue;
    const topology = (await nodeTable.find(reader, { cluster, nodeId }))?.spec.topology;
    const access = {
      nodeId,
      cluster,
      attachmentId,
      capability,
      readonly,
      ...(topology !== undefined && { topology }),
    };
    yield { volume: toKnownVolume(volume), access, reach };
  }
}
