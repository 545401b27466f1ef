import { pause } from '../../lib/concurrency.ts';
import { sameJson } from '../../lib/json.ts';
import type { Log } from '../../lib/log.ts';
import { createApiServer, type ApiServer } from './api-server.ts';
import { readConnection } from './connection.ts';

/** What every object of Kubernetes has. */
export type KubernetesObject = {
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
};

/** Objects of one kind, what is kept of each, and who is told of all, by name, when something of that has changed. */
type Following<T extends KubernetesObject, F> = {
  /** The list's path, such as `/api/v1/nodes`. */
  readonly path: string;
  readonly read: (object: T) => F;
  readonly tell: (all: ReadonlyMap<string, F>) => void;
};

/** Where the cluster is, and until when it is followed. */
export type Source = { readonly kubernetes: string; readonly log: Log; readonly signal: AbortSignal };

const pageSize = 500;
/** A watch is asked for anew after this long, in seconds. */
const watchSeconds = 240;
const [firstPauseMs, longestPauseMs] = [500, 60_000] as const;

type List<T> = {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly T[];
};
type Event<T> = {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: T & { readonly message?: string };
};

/** Tells of all objects of a kind, at first and after each change, until the signal; what fails is logged and tried again, ever more rarely. */
export async function follow<T extends KubernetesObject, F>(
  { kubernetes, log, signal }: Source,
  following: Following<T, F>,
): Promise<void> {
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      // Made anew, since its certificates may be new ones.
      const server = createApiServer(await readConnection(kubernetes), signal);
      await followOn(server, following, () => (failures = 0)).finally(() => server.close());
    } catch (error) {
      if (signal.aborted) return;
      log.warn('the cluster cannot be followed', { path: following.path, detail: String(error) });
    }
    const pauseMs = Math.min(firstPauseMs * 2 ** failures, longestPauseMs) * (0.5 + Math.random());
    await pause(pauseMs, signal).catch(() => {});
  }
}

/** Throws whenever the list has to be read again. */
async function followOn<T extends KubernetesObject, F>(
  server: ApiServer,
  following: Following<T, F>,
  succeed: () => void,
): Promise<never> {
  const { all, version } = await list(server, following);
  following.tell(all);
  for (let since = version; ;) {
    succeed();
    since = await watch(server, { ...following, all, since });
  }
}

async function list<T extends KubernetesObject, F>(server: ApiServer, { path, read }: Following<T, F>) {
  const all = new Map<string, F>();
  for (let next = ''; ;) {
    const page: List<T> = await server.read(`${path}?limit=${pageSize}&continue=${encodeURIComponent(next)}`);
    for (const item of page.items) all.set(item.metadata.name, read(item));
    const { resourceVersion: version, continue: rest = '' } = page.metadata;
    if (rest === '') return { all, version };
    next = rest;
  }
}

type Watching<T extends KubernetesObject, F> = Following<T, F> & {
  readonly all: Map<string, F>;
  readonly since: string;
};

/** The version that the next watch begins at. */
async function watch<T extends KubernetesObject, F>(
  server: ApiServer,
  { path, read, tell, all, since }: Watching<T, F>,
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
    if (type === 'DELETED' || !sameJson(before, all.get(name))) tell(all);
  }
  return version;
}
