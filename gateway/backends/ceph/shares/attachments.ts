import { preconditionProblem, unavailableProblem } from '../../../../src/api/problem.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import type { Backend, NodeAccess } from '../../../backend.ts';
import { readMonitors, type Mode } from '../attachments.ts';
import { blocklistSeconds, evictionPoll } from '../clients.ts';
import { createUser, removeUser, userOf } from '../users.ts';
import { quotaOf, type Filesystem, type SubvolumeInfo } from './filesystem.ts';
import { requireShare } from './volumes.ts';

/** Attaches subvolumes to nodes. Each attachment has a CephX user of its own that may use one subvolume. */
export function createShareAttachments(
  filesystem: Filesystem,
  mode: Mode,
): Required<Pick<Backend, 'attach' | 'detach'>> {
  return {
    async attach(volume, access) {
      requireShare(access.capability);
      const [subvolume] = await filesystem.locate(volume);
      const info = subvolume && (await filesystem.inspect(subvolume));
      if (!subvolume || info?.state !== 'complete' || quotaOf(info) < volume.sizeBytes)
        throw preconditionProblem(
          `the subvolume of volume "${volume.id}" is missing or smaller than the volume`,
        );
      const { monitors } = await readMonitors(filesystem, mode);
      const user = userOf(subvolume.name, access);
      const key = await createUser(filesystem, user, capsOf(filesystem, info, access));
      const { path } = info;
      return {
        protocol: 'cephfs',
        monitors,
        mode,
        filesystem: filesystem.name,
        path,
        user,
        secrets: { 'cephfs-key': key },
      };
    },

    async detach(volume, nodeId, cluster) {
      for (const { name } of await filesystem.locate(volume)) {
        const user = userOf(name, cluster === undefined ? { nodeId } : { nodeId, cluster });
        await removeUser(filesystem, user, () => evict(filesystem, user));
      }
    },
  };
}

/** The rights to one directory, and to the namespace of its files' objects. */
function capsOf(
  { name }: Filesystem,
  { path, data_pool: pool, pool_namespace: namespace }: Extract<SubvolumeInfo, { state: 'complete' }>,
  { readonly }: NodeAccess,
): readonly string[] {
  const rights = readonly ? 'r' : 'rw';
  return [
    'mon',
    `allow r fsname=${name}`,
    'mds',
    `allow ${rights} fsname=${name} path=${path}`,
    'osd',
    `allow ${rights} pool=${pool} namespace=${namespace}`,
  ];
}

/**
 * Shuts out every client of a user. Returns once no server has a session of it. The next user of the files waits for
 * the OSD map with the blocklist. UNAVAILABLE with the addresses of the sessions that are left.
 */
async function evict(filesystem: Filesystem, user: string): Promise<void> {
  const ranks = await filesystem.ranks();
  let left: readonly string[] = [];
  const checkSessions = async (): Promise<true | undefined> => {
    const own = await filesystem.sessionsOf(user, ranks);
    left = own.map(({ entity: { addr } }) => `${addr.addr}/${addr.nonce}`);
    const shut = async (): Promise<void> => {
      for (const address of left)
        await filesystem.ceph(['osd', 'blocklist', 'add', address, String(blocklistSeconds)]);
    };
    await shut();
    for (const rank of ranks) await filesystem.evict(user, rank);
    // An evicting server blocklists the client for a shorter time, so the entry is written again.
    await shut();
    return left.length === 0 || undefined;
  };
  if (!(await poll(checkSessions, evictionPoll)))
    throw unavailableProblem(`user "${user}" still has a session at ${left.join(', ')}`);
}
