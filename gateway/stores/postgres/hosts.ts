import type { Client, Pool, PoolClient } from 'pg';

/**
 * Splits a connection URL with several hosts, such as `postgres://user@one:5432,two:5432/database`, into one URL for
 * each host, in order. Returns any other URL, or directory of a UNIX socket, as it is. Throws one line for any other text.
 */
export function urlsOf(url: string): readonly string[] {
  const [, before = '', hosts = '', after = ''] =
    /^([a-z]+:\/\/(?:[^@/?#]*@)?)([^@/?#]*)(.*)$/is.exec(url) ?? [];
  // A host with its port also looks like a scheme.
  if (!/^([a-z]+:(?!\d)|\/)/i.test(url))
    throw new Error('the file holds no connection URL; write postgres://USER:PASSWORD@HOST/DATABASE to it');
  return hosts.includes(',') ? hosts.split(',').map(host => `${before}${host}${after}`) : [url];
}

/** Adds the file of libpq's variable PGSSLROOTCERT to a URL that names no authority, as a Secret's URL may not. */
export function withAuthority(url: string, file = process.env['PGSSLROOTCERT']): string {
  if (!file || /[?&]sslrootcert=/.test(url)) return url;
  return `${url}${url.includes('?') ? '&' : '?'}sslrootcert=${encodeURIComponent(file)}`;
}

/** The host of a server on this machine: a UNIX socket's directory, or a loopback address. */
const isLocal = /^(\/.*|localhost|127(\.\d+){3}|::1)$/;

/** Throws for another machine without TLS, which would get the password in clear text, unless the URL asks for that. */
export function requireEncrypted(url: string, { host, ssl }: Pick<Client, 'host' | 'ssl'>): void {
  if (ssl || isLocal.test(host)) return;
  const mode = /[?&]sslmode=([^&]*)/.exec(url)?.[1] ?? process.env['PGSSLMODE'];
  if (mode === 'disable') return;
  throw new Error(
    `the connection to "${host}" is not encrypted; add sslmode=verify-full to the URL, with sslrootcert=FILE for an authority of your own, or sslmode=disable for a network that you trust`,
  );
}

/** Connections to the usable one of several hosts. Each host has a pool of its own. */
export type Hosts = {
  /** Connects to the host that was used last, or to the next that works. Throws the last host's error if none does. */
  connect(): Promise<PoolClient>;
  end(): Promise<void>;
};

export function joinHosts(pools: readonly Pool[]): Hosts {
  let current = 0;

  async function tryNext(left: number): Promise<PoolClient> {
    const tried = current;
    try {
      return await (pools[tried] as Pool).connect();
    } catch (error) {
      // If many calls fail at once, only the first moves on to the next host.
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
