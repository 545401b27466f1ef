import type { AdminNode, AdminVolume } from '../../api/admin.ts';
import type { StorageClient } from '../../api/client.ts';
import type { Call } from '../../api/http.ts';
import { readNodeId } from '../../api/ids.ts';
import { Problem } from '../../api/problem.ts';
import { suggest } from '../../lib/words/suggest.ts';
import type { Kind } from '../kind.ts';
import { kinds } from '../kinds/index.ts';
import { findClusterFault, listAll, type Lister } from '../listing.ts';

/** Makes the error for a node that does not have the volume, or for a cluster without a node that has it. */
export async function unattachedFault(
  client: StorageClient,
  call: Call,
  {
    volumeId,
    node,
    cluster,
  }: { readonly volumeId: string; readonly node?: string | undefined; readonly cluster?: string | undefined },
): Promise<Error> {
  const attachments = (await findVolume(client, call, volumeId))?.attachments ?? [];
  const ids = attachments.flatMap(({ nodeId }) => [readNodeId(nodeId).name, nodeId]);
  const clusters = attachments.map(one => one.cluster);
  const place = node === undefined ? 'any node' : `node ${quote(node, ids)}`;
  const owner = cluster === undefined ? '' : ` of cluster ${quote(cluster, clusters)}`;
  const names = attachments.map(one => `node "${readNodeId(one.nodeId).name}" of cluster "${one.cluster}"`);
  return new Error(
    `volume "${volumeId}" is not attached to ${place}${owner}; it is attached to ${names.join(', ') || 'no node'}`,
  );
}

/** Quotes the name, with a similar one if it is not known. */
function quote(name: string, known: readonly string[]): string {
  return `"${name}"${known.includes(name) ? '' : suggest(name, known)}`;
}

/** Throws an error, with a similar name, if the cluster has no node with this id. */
export async function requireNode(
  client: StorageClient,
  call: Call,
  { cluster, nodeId }: { readonly cluster: string; readonly nodeId: string },
): Promise<void> {
  const from: Lister = { client, call: () => call };
  const nodes = await listAll(from, kinds.nodes as Kind<AdminNode>, { cluster });
  if (nodes.some(one => one.nodeId === nodeId)) return;
  const names = nodes.flatMap(one => [one.nodeId, readNodeId(one.nodeId).name]);
  const fault = await findClusterFault(from, cluster);
  throw new Error(
    fault ??
      `cluster "${cluster}" has no node "${nodeId}"${suggest(nodeId, names)}; the id includes the key, see fairlead get nodes --cluster ${cluster} -o json`,
  );
}

/** Throws an error if there is no such volume, or if the grantee is neither a cluster nor in a grant of the volume. */
export async function requireGrantee(
  client: StorageClient,
  call: Call,
  { volumeId, grantee }: { readonly volumeId: string; readonly grantee: string },
): Promise<void> {
  const volume = await findVolume(client, call, volumeId);
  if (!volume) throw new Problem('NOT_FOUND', `there is no volume "${volumeId}"`);
  if (volume.grants?.some(one => one.cluster === grantee)) return;
  const fault = await findClusterFault({ client, call: () => call }, grantee);
  if (fault !== undefined) throw new Error(fault);
}

export async function findVolume(
  client: StorageClient,
  call: Call,
  id: string,
): Promise<AdminVolume | undefined> {
  return (await client.listAllVolumes({ id }, call)).volumes[0];
}
