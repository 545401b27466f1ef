import { createHash } from 'node:crypto';
import type { NodeAccess } from '../../backend.ts';
import { invalid, missing, type Commands } from './commands.ts';

/** The prefix that tells the gateway's users from the cluster's other users. */
const userPrefix = 'fairlead.';

type Cluster = Pick<Commands, 'ceph'>;

/** The user of one volume on one node, so that a detach finds it. Each new user has a new key. */
export function userOf(
  volume: string,
  { cluster = '', nodeId }: Pick<NodeAccess, 'nodeId' | 'cluster'>,
): string {
  const text = JSON.stringify([volume, cluster, nodeId]);
  return userPrefix + createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** Returns the key of a user with these rights. Creates the user if it is missing. */
export async function createUser({ ceph }: Cluster, user: string, caps: readonly string[]): Promise<string> {
  const entity = `client.${user}`;
  const ask = ['auth', 'get-or-create-key', entity, ...caps, '--format', 'json'];
  let result = await ceph(ask, { fine: [invalid] });
  if (result.status === invalid) {
    // The user has other rights: of the volume's earlier size or mode, or none because a detach has not ended.
    await ceph(['auth', 'caps', entity, ...caps]);
    result = await ceph(ask);
  }
  return (JSON.parse(result.stdout) as { readonly key: string }).key;
}

/**
 * Removes a user, if it exists, after `shutOut`. The user is removed last, so that an interrupted call finds it again
 * and repeats `shutOut`.
 */
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
