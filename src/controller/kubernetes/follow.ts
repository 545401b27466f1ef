import { describeStartFault } from '../../lib/lifecycle.ts';
import { pause } from '../../lib/concurrency.ts';
import { sameJson } from '../../lib/json.ts';
import type { Log } from '../../lib/log.ts';
import { createApiServer, type ApiServer } from './api-server.ts';
import { readConnection } from './connection.ts';

/** The metadata that every Kubernetes object has. */
export type KubernetesObject = {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
};

type FollowedKind<T extends KubernetesObject, F> = {
  /** The list's path, such as `/api/v1/nodes`. */
  readonly path: string;
  /** Extracts the relevant part of an object. */
  readonly read: (object: T) => F;
  /** Gets the parts of all objects by their names; later, whenever a part has changed, also the name of that object. */
  readonly onChange: (all: ReadonlyMap<string, F>, changed?: string) => void;
};

/** The cluster to follow, until `signal` aborts. */
export type Source = { readonly kubernetes: string; readonly log: Log; readonly signal: AbortSignal };

/** The number of objects in a page. A node may have 20 kB, because it lists its images. */
const pageSize = 50;
/** A watch ends after this many seconds, and a new one begins. */
const watchSeconds = 240;
const [firstPauseMs, maxPauseMs] = [500, 60_000] as const;

type List<T> = {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly T[];
};
type Event<T> = {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T & { readonly message?: string };
};

/**
 * Follows all objects of a kind until the signal aborts. Logs each failure and tries again after pauses of up to a
 * minute.
 */
export async function follow<T extends KubernetesObject, F>(
  { kubernetes, log, signal }: Source,
  kind: FollowedKind<T, F>,
): Promise<void> {
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      // A new connection reads renewed certificates.
      const server = createApiServer(await readConnection(kubernetes), signal);
      await followOn(server, kind, () => (failures = 0)).finally(() => server.close());
    } catch (error) {
      if (signal.aborted) return;
      log.warn('cannot watch the cluster', { path: kind.path, detail: describeStartFault(error) });
    }
    const pauseMs = Math.min(firstPauseMs * 2 ** failures, maxPauseMs) * (0.5 + Math.random());
    await pause(pauseMs, signal).catch(() => {});
  }
}

/** Follows a kind over one connection. Throws whenever the list has to be read again. */
async function followOn<T extends KubernetesObject, F>(
  server: ApiServer,
  kind: FollowedKind<T, F>,
  succeed: () => void,
): Promise<never> {
  const { all, version } = await list(server, kind);
  kind.onChange(all);
  for (let since = version; ;) {
    succeed();
    since = await watch(server, { ...kind, all, since });
  }
}

async function list<T extends KubernetesObject, F>(server: ApiServer, { path, read }: FollowedKind<T, F>) {
  const all = new Map<string, F>();
  for (let next = ''; ;) {
    const page: List<T> = await server.read(`${path}?limit=${pageSize}&continue=${encodeURIComponent(next)}`);
    for (const item of page.items) all.set(item.metadata.name, read(item));
    const { resourceVersion: version, continue: rest = '' } = page.metadata;
    if (rest === '') return { all, version };
    next = rest;
  }
}

type WatchOptions<T extends KubernetesObject, F> = FollowedKind<T, F> & {
  readonly all: Map<string, F>;
  readonly since: string;
};

/** Watches a kind until the server ends the watch. Returns the start version of the next watch. */
async function watch<T extends KubernetesObject, F>(
  server: ApiServer,
  { path, read, onChange, all, since }: WatchOptions<T, F>,
): Promise<string> {
  let version = since;
  const query = `watch=1&allowWatchBookmarks=true&timeoutSeconds=${watchSeconds}&resourceVersion=${since}`;
  for await (const line of server.readLines(`${path}?${query}`)) {
    const { type, object } = JSON.parse(line) as Event<T>;
    if (type === 'ERROR') throw new Error(object.message ?? 'the watch failed');
    const { name, resourceVersion } = object.metadata;
    version = resourceVersion;
    if (type === 'BOOKMARK') continue;
    const before = all.get(name);
    if (type === 'DELETED') all.delete(name);
    else all.set(name, read(object));
    if (type === 'DELETED' || !sameJson(before, all.get(name))) onChange(all, name);
  }
  return version;
}
