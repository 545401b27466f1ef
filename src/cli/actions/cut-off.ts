import type { StorageClient } from '../../api/client.ts';
import type { Call } from '../../api/http.ts';

/** The warning of every command that detaches volumes in a pool that cannot cut a node off. */
export const uncutWarning =
  'its pool cannot cut a node off: a node that still runs can read and write the volume';

/** Finds the warning for a volume that will be detached from the nodes of the cluster, or of every cluster. */
export async function findUncutWarning(
  client: StorageClient,
  call: Call,
  { volumeId, cluster }: { readonly volumeId: string; readonly cluster?: string },
): Promise<string | undefined> {
  const [volume] = (await client.listAllVolumes({ id: volumeId }, call)).volumes;
  const isAttached = volume?.attachments.some(one => one.cluster === (cluster ?? one.cluster));
  if (!volume || !isAttached) return undefined;
  const [pool] = (await client.listPools({ id: volume.pool }, call)).pools;
  return pool?.cannotCutOff ? uncutWarning : undefined;
}
