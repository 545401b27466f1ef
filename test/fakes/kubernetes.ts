import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { listen } from '../harness/listen.ts';

type Fields = Readonly<Record<string, unknown>>;
type StoredObject = {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
} & Fields;

const nodes = '/api/v1/nodes';
const csiNodes = '/apis/storage.k8s.io/v1/csinodes';
const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

/** A node in the API server. */
type FakeNode = {
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly { readonly key: string; readonly effect: string }[];
  readonly unschedulable?: boolean;
  readonly providerID?: string;
  readonly status?: object;
};

/**
 * Starts the part of the Kubernetes API that concerns nodes and their leases: lists in pages of two, watches, patches. Requests need the
 * token.
 */
export async function startKubernetes(t: TestContext, { token }: { readonly token: string }) {
  const objects = new Map<string, StoredObject>();
  const watches = new Set<{ readonly path: string; readonly response: ServerResponse }>();
  const asked: string[] = [];
  let version = 0;
  let accepted = token;
  let oldest = 0;
  let refusesChanges = false;

  const inList = (path: string) => [...objects].filter(([at]) => at.startsWith(`${path}/`));

  function put(path: string, fields: Fields): void {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const { metadata = {} } = fields as { readonly metadata?: Fields };
    const type = objects.has(path) ? 'MODIFIED' : 'ADDED';
    const object = { ...fields, metadata: { ...metadata, name, resourceVersion: String(++version) } };
    objects.set(path, object);
    announce(path, { type, object });
  }

  function announce(path: string, event: unknown): void {
    for (const { path: watched, response } of watches)
      if (path.startsWith(`${watched}/`)) response.write(`${JSON.stringify(event)}\n`);
  }

  function list(path: string, after: string): unknown {
    const all = inList(path).map(([, object]) => object);
    const start = Number(after);
    const more = start + 2 < all.length && { continue: String(start + 2) };
    return { metadata: { resourceVersion: String(version), ...more }, items: all.slice(start, start + 2) };
  }

  async function patch(
    request: IncomingMessage,
    path: string,
    before: StoredObject | undefined,
  ): Promise<number> {
    const body = JSON.parse((await request.toArray()).join('')) as Fields & { readonly metadata: Fields };
    const { resourceVersion } = body.metadata;
    if (resourceVersion !== undefined && resourceVersion !== before?.metadata.resourceVersion) return 409;
    const spec = { ...(before?.['spec'] as Fields | undefined), ...(body['spec'] as Fields | undefined) };
    put(path, {
      ...before,
      ...body,
      ...(before?.['spec'] !== undefined && { spec }),
      metadata: { ...before?.metadata },
    });
    return 200;
  }

  const server = createServer((request, response) => {
    const { pathname: path, searchParams: query } = new URL(request.url ?? '', 'http://x');
    asked.push(`${request.method} ${path}${query.has('watch') ? ' watch' : ''}`);
    const answer = (status: number, body: unknown = { message: `status ${status}` }): void =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.headers.authorization !== `Bearer ${accepted}`) return answer(401);
    if (request.method === 'PATCH' && refusesChanges && path.startsWith(`${nodes}/`)) return answer(500);
    if (request.method === 'PATCH')
      return void patch(request, path, objects.get(path)).then(status => answer(status));
    if (![nodes, csiNodes, leases].includes(path))
      return answer(objects.has(path) ? 200 : 404, objects.get(path));
    if (!query.has('watch')) return answer(200, list(path, query.get('continue') ?? ''));
    response.writeHead(200, { 'content-type': 'application/json' });
    if (Number(query.get('resourceVersion')) < oldest)
      return void response.end(
        `${JSON.stringify({ type: 'ERROR', object: { metadata: {}, message: 'too old' } })}\n`,
      );
    response.flushHeaders();
    const watch = { path, response };
    watches.add(watch);
    response.once('close', () => watches.delete(watch));
  });
  const address = await listen(t, server);

  return {
    url: `http://${address}`,
    asked,
    putNode: (name: string, { labels = {}, status, ...spec }: FakeNode = {}) =>
      put(`${nodes}/${name}`, { metadata: { labels }, spec, ...(status && { status }) }),
    /** Puts the status of a node, as its kubelet does. `unseen`: without an event for watches. */
    putStatus(name: string, status: object, unseen?: 'unseen') {
      const path = `${nodes}/${name}`;
      const before = objects.get(path);
      if (!unseen || !before) return put(path, { ...before, status });
      const metadata = { ...before.metadata, resourceVersion: String(++version) };
      objects.set(path, { ...before, status, metadata });
    },
    /** Renews the lease of a node; `unseen`: without an event for watches. */
    renew(name: string, unseen?: 'unseen') {
      const path = `${leases}/${name}`;
      const lease = { spec: { renewTime: new Date().toISOString() + String(++version) } };
      if (unseen) objects.set(path, { ...lease, metadata: { name, resourceVersion: String(version) } });
      else put(path, lease);
    },
    /** Refuses the next requests to change a node. */
    refuseChanges: (isRefused: boolean) => (refusesChanges = isRefused),
    /** Puts a CSINode; without a driver, kubelet has registered none on the node. */
    putCsiNode: (name: string, driver?: Fields) =>
      put(`${csiNodes}/${name}`, { spec: { drivers: driver ? [driver] : [] } }),
    removeNode(name: string) {
      for (const path of [`${nodes}/${name}`, `${csiNodes}/${name}`]) {
        announce(path, { type: 'DELETED', object: objects.get(path) });
        objects.delete(path);
      }
    },
    get: (path: string) => objects.get(path),
    /** Ends every watch and expires all versions so far, so that clients have to list again. */
    forget() {
      oldest = ++version;
      for (const { response } of watches) response.end();
      watches.clear();
    },
    /** Changes the accepted token. */
    accept: (next: string) => (accepted = next),
    isWatched: (kinds = 2) => watches.size === kinds,
  };
}

/** Writes a kubeconfig file for the API server at `url` into the directory, and returns its path. */
export function writeKubeconfig(directory: string, url: string, user: object): string {
  const path = join(directory, 'kubeconfig');
  writeFileSync(
    path,
    JSON.stringify({
      'current-context': 'x',
      ...named('context', { cluster: 'x', user: 'x' }),
      ...named('cluster', { server: url }),
      ...named('user', user),
    }),
  );
  return path;
}

function named(kind: string, value: object): object {
  return { [`${kind}s`]: [{ name: 'x', [kind]: value }] };
}
