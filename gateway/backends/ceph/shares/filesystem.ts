import { clusterOf } from '../../../../src/api/ids.ts';
import { Problem, unavailableProblem } from '../../../../src/api/problem.ts';
import type { VolumeRef } from '../../../backend.ts';
import { requireId } from '../../../local/files.ts';
import { again, missing, type CommandOptions, type Commands } from '../commands.ts';

/** A filesystem of a Ceph cluster, and the names of subvolumes in it. */
export type Filesystem = ReturnType<typeof openFilesystem>;

/**
 * A subvolume by its group, which belongs to one cluster, and its name. The name contains the nonce and is unique in
 * the filesystem, because the cluster names the pool namespace by it alone.
 */
export type Subvolume = { readonly group: string; readonly name: string };

/** The state of a subvolume; only a complete one has more. `unfinished` is a copy that is in progress or failed. */
export type SubvolumeInfo =
  | { readonly state: 'missing' | 'unfinished' | 'snapshot-retained' }
  | {
      readonly state: 'complete';
      readonly path: string;
      readonly bytes_quota: number | 'infinite';
      readonly data_pool: string;
      readonly pool_namespace: string;
    };

/** A client's session with a server of the filesystem, by the client's address. */
export type Session = {
  readonly entity: { readonly addr: { readonly addr: string; readonly nonce: number } };
};

type Server = { readonly rank: number; readonly state: string };
type Servers = {
  readonly mdsmap: { readonly in: readonly number[]; readonly info: Readonly<Record<string, Server>> };
};
type Names = readonly { readonly name: string }[];
type Order = { readonly verb: string; readonly of: Subvolume; readonly args?: readonly string[] };

const prefix = 'fairlead.';

/** Opens a filesystem without any call to the cluster. */
export function openFilesystem(name: string, commands: Commands) {
  const { ceph, askCeph } = commands;
  const lineOf = ({ verb, of, args = [] }: Order): readonly string[] => {
    const words = verb.split(' ');
    return ['fs', 'subvolume', ...words, name, of.name, ...args, '--group_name', of.group];
  };

  async function namesOf(group: string): Promise<readonly string[]> {
    return ((await askCeph<Names>('fs', 'subvolume', 'ls', name, group)) ?? []).map(one => one.name);
  }

  return {
    ...commands,
    name,
    namesOf,
    order: (order: Order, options?: CommandOptions) => ceph(lineOf(order), options),
    /** Lists the groups that belong to this gateway. */
    async groups(): Promise<readonly string[]> {
      const all = (await askCeph<Names>('fs', 'subvolumegroup', 'ls', name)) ?? [];
      return all.map(one => one.name).filter(one => one.startsWith(prefix));
    },
    /** Finds the subvolumes of a reference: with a nonce one, which may be missing, otherwise all that have the id. */
    async locate({ id, nonce }: VolumeRef): Promise<readonly Subvolume[]> {
      const group = groupOf(id);
      if (nonce) return [{ group, name: nameOf({ id, nonce }) }];
      return (await namesOf(group)).filter(one => idOf(one) === id).map(one => ({ group, name: one }));
    },
    async inspect(subvolume: Subvolume): Promise<SubvolumeInfo> {
      const args = ['--format', 'json'];
      const { status, stdout } = await ceph(lineOf({ verb: 'info', of: subvolume, args }), {
        fine: [missing, again],
      });
      if (status === 0) return JSON.parse(stdout) as SubvolumeInfo;
      return { state: status === again ? 'unfinished' : 'missing' };
    },
    /** The ranks of the filesystem's servers; UNAVAILABLE while one of them is not active. */
    async ranks(): Promise<readonly number[]> {
      const { mdsmap } = (await askCeph<Servers>('fs', 'get', name)) ?? {};
      const active = new Set(
        Object.values(mdsmap?.info ?? {}).flatMap(({ rank, state }) => (state === 'up:active' ? [rank] : [])),
      );
      if (!mdsmap?.in.length || !mdsmap.in.every(rank => active.has(rank)))
        throw unavailableProblem(`not all servers of filesystem "${name}" are active`);
      return mdsmap.in;
    },
    /** Lists the sessions of a CephX user. The cluster has verified this name; a client cannot choose it. */
    async sessionsOf(user: string, ranks: readonly number[]): Promise<readonly Session[]> {
      const all: Session[] = [];
      for (const rank of ranks) {
        const line = ['tell', `mds.${name}:${rank}`, 'client', 'ls', `auth_name=${user}`];
        all.push(...((await askCeph<readonly Session[]>(...line)) ?? []));
      }
      return all;
    },
    async evict(user: string, rank: number): Promise<void> {
      await ceph(['tell', `mds.${name}:${rank}`, 'client', 'evict', `auth_name=${user}`]);
    },
    async createGroup(group: string): Promise<void> {
      await ceph(['fs', 'subvolumegroup', 'create', name, group]);
    },
  };
}

type FilesystemList = readonly { readonly name: string; readonly data_pools: readonly string[] }[];

/** The data pool of a filesystem; UNAVAILABLE when the cluster has no such filesystem. */
export async function readDataPool({ askCeph }: Commands, name: string): Promise<string> {
  const all = (await askCeph<FilesystemList>('fs', 'ls')) ?? [];
  const [pool] = all.find(one => one.name === name)?.data_pools ?? [];
  if (pool === undefined) throw unavailableProblem(`the cluster has no filesystem "${name}"`);
  return pool;
}

/** Finds the subvolume of a volume; NOT_FOUND when it is missing. */
export async function requireSubvolume(filesystem: Filesystem, volume: VolumeRef) {
  for (const subvolume of await filesystem.locate(volume)) {
    const info = await filesystem.inspect(subvolume);
    if (info.state === 'complete') return { subvolume, info };
  }
  throw new Problem('NOT_FOUND', `the subvolume of volume "${volume.id}" is missing`);
}

export function quotaOf({ bytes_quota: quota }: Extract<SubvolumeInfo, { state: 'complete' }>): number {
  return quota === 'infinite' ? 0 : quota;
}

/** The group of the resource's cluster; INVALID_ARGUMENT for an invalid id. */
export function groupOf(id: string, noun: 'volume' | 'snapshot' = 'volume'): string {
  return prefix + clusterOf(requireId(id, noun));
}

export function nameOf({ id, nonce = '' }: VolumeRef): string {
  return `${id}.${nonce}`;
}

export function idOf(name: string): string {
  return name.slice(0, name.lastIndexOf('.'));
}
