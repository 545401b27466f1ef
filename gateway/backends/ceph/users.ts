import { createHash } from 'node:crypto';
import type { NodeAccess } from '../../backend.ts';
import { invalid, missing, type Commands } from './commands.ts';

/** A user has so much of a name beside what the cluster's other users may be called. */
const userPrefix = 'fairlead.';

type Cluster = Pick<Commands, 'ceph'>;

/** One for each image or subvolume and node, so that detaching finds it; its key is another each time that it is made. */
export function userOf(
  volume: string,
  { cluster = '', nodeId }: Pick<NodeAccess, 'nodeId' | 'cluster'>,
): string {
  const text = JSON.stringify([volume, cluster, nodeId]);
  return userPrefix + createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** Returns the key of a user with these rights: of a new one, or of the one that is there. */
export async function makeUser({ ceph }: Cluster, user: string, caps: readonly string[]): Promise<string> {
  const entity = `client.${user}`;
  const ask = ['auth', 'get-or-create-key', entity, ...caps, '--format', 'json'];
  let made = await ceph(ask, { fine: [invalid] });
  if (made.status === invalid) {
    // It has other rights: of an earlier shape of the volume, or none, for a detach that has not ended.
    await ceph(['auth', 'caps', entity, ...caps]);
    made = await ceph(ask);
  }
  return (JSON.parse(made.stdout) as { readonly key: string }).key;
}

/** Removes a user, if there is one, once it is shut out. It goes last: for as long as there is one, not all is shut out. */
export async function removeUser(
  { ceph }: Cluster,
  user: string,
  shutOut: () => Promise<void>,
): Promise<void> {
  const entity = `client.${user}`;
  const none = ['auth', 'caps', entity, 'mon', 'allow r'];
  if ((await ceph(none, { fine: [missing] })).status === missing) return;
  await shutOut();
  await ceph(['auth', 'rm', entity]);
}
