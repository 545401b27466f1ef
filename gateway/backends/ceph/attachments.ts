import { preconditionProblem, unavailableProblem } from '../../../src/api/problem.ts';
import type { Backend, NodeAccess } from '../../backend.ts';
import { shutOut } from './clients.ts';
import type { Image, ImageInfo, RbdPool } from './pool.ts';
import { createUser, removeUser, userOf } from './users.ts';

/**
 * The protocol between nodes and cluster: messenger 1 (`legacy`), or messenger 2 without (`crc`) or with encryption
 * (`secure`).
 */
export type Mode = 'legacy' | 'crc' | 'secure';

/** Attaches images to nodes. Each attachment has a CephX user of its own that may use one image. */
export function createAttachments(pool: RbdPool, mode: Mode): Required<Pick<Backend, 'attach' | 'detach'>> {
  return {
    async attach(volume, access) {
      const [image] = await pool.locate(volume);
      const info = image && (await pool.inspect(image));
      if (!image || !info || info.size < volume.sizeBytes)
        throw preconditionProblem(`the image of volume "${volume.id}" is missing or smaller than the volume`);
      const { fsid, monitors } = await readMonitors(pool, mode);
      const user = userOf(pool.specOf(image), access);
      const key = await createUser(pool, user, capsOf(pool, { image, info, access }));
      const { namespace, name } = image;
      return {
        protocol: 'rbd',
        monitors,
        mode,
        fsid,
        pool: pool.name,
        namespace,
        image: name,
        imageId: info.id,
        user,
        ...(access.mayReplay && { mayReplay: true }),
        secrets: { 'rbd-key': key },
      };
    },

    async detach(volume, nodeId, cluster) {
      for (const image of await pool.locate(volume)) {
        const user = userOf(pool.specOf(image), cluster === undefined ? { nodeId } : { nodeId, cluster });
        await removeUser(pool, user, async () => {
          if (await pool.inspect(image)) await shutOut(pool, image);
        });
      }
    },
  };
}

type AccessTarget = { readonly image: Image; readonly info: ImageInfo; readonly access: NodeAccess };

/**
 * The monitor rights of `profile rbd`, with one restriction. A client that finds the lock of a dead client blocklists
 * it by address. This user may blocklist only addresses of single clients, never a whole machine or one of the
 * cluster's servers. Ceph before version 16 calls the command `blacklist`.
 */
const monRights = [
  ...['mon', 'osd', 'pg'].map(service => `allow service ${service} r`),
  ...['blocklist', 'blacklist'].map(
    list => `allow command "osd ${list}" with ${list}op=add addr regex "^[^/]+:0/[1-9][0-9]*$"`,
  ),
].join(', ');

function capsOf(pool: RbdPool, { image, info, access }: AccessTarget): readonly string[] {
  const on = (rights: string, { namespace }: Image, prefix: string): string =>
    `allow ${rights} pool=${pool.name} namespace=${namespace} object_prefix ${prefix}`;
  const osd = [
    on('rx', image, `rbd_id.${image.name}`),
    // A reader also watches the header, which needs write access.
    on('rwx', image, `rbd_header.${info.id}`),
    on('rwx', image, `rbd_object_map.${info.id}`),
    on(access.readonly && !access.mayReplay ? 'rx' : 'rwx', image, `rbd_data.${info.id}.`),
  ];
  return ['mon', monRights, 'osd', osd.join(', ')];
}

type Dump = {
  readonly fsid: string;
  readonly mons: readonly {
    readonly public_addrs: { readonly addrvec: readonly { readonly type: string; readonly addr: string }[] };
  }[];
};

/** Reads the cluster's id and its monitors' addresses for this mode. UNAVAILABLE when no monitor has one. */
export async function readMonitors(pool: Pick<RbdPool, 'askCeph'>, mode: Mode) {
  const { fsid = '', mons = [] } = (await pool.askCeph<Dump>('mon', 'dump')) ?? {};
  const type = mode === 'legacy' ? 'v1' : 'v2';
  const all = mons.flatMap(({ public_addrs: { addrvec } }) => addrvec);
  const monitors = all.filter(one => one.type === type).map(({ addr }) => addr);
  if (monitors.length === 0)
    throw unavailableProblem(
      `no monitor of the Ceph cluster has an address of type ${type}; enable it, or set another "mode"`,
    );
  return { fsid, monitors: monitors.slice(0, 16) };
}
