import type { Pool, PoolClient } from 'pg';

/** A connection URL for each of the hosts that one names, in its order: `postgres://user@one:5432,two:5432/database`. */
export function urlsOf(url: string): readonly string[] {
  const [, before = '', hosts = '', after = ''] =
    /^([a-z]+:\/\/(?:[^@/?#]*@)?)([^@/?#]*)(.*)$/is.exec(url) ?? [];
  return hosts.includes(',') ? hosts.split(',').map(host => `${before}${host}${after}`) : [url];
}

/** Connections to whichever of several hosts can be used, each of which has a pool of its own. */
export type Hosts = {
  /** One to the host that was used last, or else to the next that can be used; throws why none can be. */
  connect(): Promise<PoolClient>;
  end(): Promise<void>;
};

/** Joins pools, one for each host. */
export function joinHosts(pools: readonly Pool[]): Hosts {
  let current = 0;

  async function tryNext(left: number): Promise<PoolClient> {
    const tried = current;
    try {
      return await (pools[tried] as Pool).connect();
    } catch (error) {
      // Of many that fail at once the first leads on.
      if (current === tried) current = (tried + 1) % pools.length;
      if (left === 1) throw error;
      return tryNext(left - 1);
    }
  }

  return {
    connect: () => tryNext(pools.length),
    end: async () => void (await Promise.all(pools.map(pool => pool.end()))),
  };
}
