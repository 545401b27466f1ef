import assert from 'node:assert/strict';
import { createEnrolment, type EnrolledCaller } from '../../gateway/callers/enrolment.ts';
import type { PublicKey } from '../../gateway/callers/keys.ts';
import type { Enrolment } from '../../gateway/callers/authenticate.ts';
import { createGateway, type Gateway as ProductionGateway } from '../../gateway/gateway.ts';
import type { Backend, Snapshots } from '../../gateway/backend.ts';
import { openMemory as openMemoryBackend, type MemoryBackend } from '../../gateway/backends/memory.ts';
import { migrate } from '../../gateway/tables/schema.ts';
import { createFaultyBackend, type FaultyBackend } from '../fakes/faulty-backend.ts';
import { openPlaced, type Space } from '../fakes/placed-backend.ts';
import type { Engine } from '../../gateway/store.ts';
import { storeSetting } from '../../gateway/config.ts';
import { openStore } from '../../gateway/stores/index.ts';
import type { Step } from '../../gateway/operations/operation.ts';
import type { DetachedSigner } from '../../gateway/pools/identity.ts';
import { createChanges } from '../../gateway/observability/changes.ts';
import { createPools } from '../../gateway/pools/pools.ts';
import { createQueues } from '../../gateway/scheduling/queues.ts';
import type { Log, LogFields } from '../../src/lib/log.ts';
import { storeIn } from './stores/store-in.ts';
import { temporaryDirectory, type CleanupScope } from './temporary.ts';
import {
  callers,
  clusters,
  createClusterCalls,
  mounted,
  newVolume,
  volumeSpec,
  type ClusterCalls,
} from './gateway/cluster-calls.ts';
import { requireDocumented } from './gateway/documented.ts';
import { signerOf, type Signer } from './gateway/signers.ts';

export { callers, clusters, mounted, newVolume, temporaryDirectory, volumeSpec, type CleanupScope };

/** Creates a log that keeps every line as text. */
export function createMemoryLog(): { readonly log: Log; readonly lines: string[] } {
  const lines: string[] = [];
  const keep =
    (level: string) =>
    (message: string, fields: LogFields = {}): void => {
      lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
    };
  return {
    lines,
    log: { debug: keep('debug'), info: keep('info'), warn: keep('warn'), error: keep('error') },
  };
}

/** Enrols these clusters, with their name as the issuer by default, and the clusters in `callers`. */
export async function enrol(signers: Readonly<Record<string, Signer>>, issuer?: string): Promise<Enrolment> {
  const enrolled = Object.entries(signers).map(([name, { publicJwk }]): EnrolledCaller => ({
    caller: callers[name] ?? { role: 'controller', cluster: { ...clusters.a, name } },
    issuer: issuer ?? name,
    keys: [publicJwk as PublicKey],
  }));
  const ownKeys = await createEnrolment(enrolled, (_, fault) => assert.fail(fault));
  return { ...ownKeys, trusted: new Map() };
}

/** The status, headers and body of a gateway's answer. */
export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  // Each test knows the shape that it expects.
  readonly body: Readonly<Record<string, unknown>>;
};

/** A gateway without its listener, with all parts that tests examine. */
export type Gateway<B = Backend> = Omit<ProductionGateway, 'app'> &
  ClusterCalls & {
    /** The backend of its only or first pool. */
    readonly backend: B;
    readonly backends: Readonly<Record<string, B>>;
    readonly logLines: readonly string[];
    /**
     * Sends a request as cluster `a`, or as the one of `callers` that `as` names (any other name sends no token), and checks the answer against its
     * documentation.
     */
    ask(route: string, options?: AskOptions): Promise<Answer>;
    /** Sends a request as `ask` does, and returns the raw response. */
    send(route: string, options?: AskOptions): Promise<Response>;
    /** Makes another gateway on the same store, by default with the same pool. */
    replica(options?: GatewayOptions<B>): Promise<Gateway<B>>;
  };

/** `route` is a method and a path, such as `GET /v1/volumes`. */
export type AskOptions = {
  readonly as?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Aborted when the caller disconnects. */
  readonly signal?: AbortSignal;
};

/**
 * The options of a gateway. `store` is a value of `--store` that gateways may share; `leaseMs` the lifetime of a claim.
 */
export type GatewayOptions<B = Backend> = {
  /** The backend of its only pool, `main`; by default memory, with the faults that the test asks for. */
  readonly backend?: B;
  /** Members in place of that memory's own; undefined leaves one out. */
  readonly own?: Own | ((memory: Whole) => Own);
  /** Pools by name, in place of `backend`; names alone are pools in memory. */
  readonly pools?: Readonly<Record<string, B>> | readonly string[];
  /** The capacity of the memory that is the default backend, in bytes or in topologies. */
  readonly capacity?: Parameters<typeof openMemory>[0];
  /** Volumes of cluster `a`, of 1 MiB each, that exist from the start. */
  readonly volumes?: readonly string[];
  /** Volumes that only the storage knows. */
  readonly orphans?: readonly string[];
  /** Nodes that cluster `a` has reported. */
  readonly nodes?: readonly string[];
  readonly store?: string;
  /** Wraps the store's engine. */
  readonly wrapEngine?: (engine: Engine) => Engine;
  readonly leaseMs?: number;
  readonly patienceMs?: number;
  /** A function that the gateway calls at each step of an operation. */
  readonly checkpoint?: (step: Step) => void;
  readonly publicDocs?: boolean;
  readonly keepDeletedMs?: number;
  /** The setting of single pools. */
  readonly keepDeletedIn?: Readonly<Record<string, number>>;
  readonly keepAuditLogMs?: number;
  /** The age at which the list of retired clusters is read again; by default never, so that no test counts that read. */
  readonly retiredEveryMs?: number;
  /** The signer of attachments; without it they are not signed. */
  readonly signDetached?: DetachedSigner;
  /** Creates the console; without it there is none. */
  readonly openConsole?: Parameters<typeof createGateway>[0]['openConsole'];
  /** True: operators can listen for changes, which come within milliseconds. */
  readonly tellsChanges?: boolean;
};

/** The memory, which has all members. */
type Whole = Required<MemoryBackend> & { readonly snapshots: Required<Snapshots> };
type Own = { readonly [Member in keyof Backend]?: Backend[Member] | undefined };

/**
 * The default time that an operation waits for another one, in ms: short, so that ABORTED comes soon.
 */
const impatienceMs = 20;

/** The intervals of the events of changes, in milliseconds. */
const quickChanges = { lookEveryMs: 20, heartbeatEveryMs: 20 };

/** Makes a gateway that ends with the test, with the clusters a, b, and any (which accepts any node). */
export async function openGateway<B extends Backend = FaultyBackend<MemoryBackend>>(
  t: CleanupScope,
  options: GatewayOptions<B> = {},
): Promise<Gateway<B>> {
  const { backend: _, own: __, volumes: ___, orphans: ____, nodes: _____, ...kept } = options;
  const backends = (await backendsOf(options)) as Readonly<Record<string, B>>;
  const all = Object.entries(backends).map(([name, backend]) => ({ name, backend }));
  const keptIn = options.keepDeletedIn ?? {};
  const pools = { ...createPools(() => all), keepDeletedMs: (name: string) => keptIn[name] };
  const store = options.store ?? (await storeIn(temporaryDirectory(t)));
  const opened = await openStore(storeSetting(store));
  const engine = options.wrapEngine?.(opened) ?? opened;
  t.after(() => engine.close());
  await migrate(engine);
  const { log, lines } = createMemoryLog();
  const signers = await allSigners();
  const enrolment = await enrol(signers);
  const { leaseMs, patienceMs = impatienceMs, checkpoint, signDetached, openConsole } = options;
  const { keepDeletedMs = 0, keepAuditLogMs, retiredEveryMs = Infinity, publicDocs = false } = options;
  const times = { leaseMs, patienceMs, keepDeletedMs, keepAuditLogMs, retiredEveryMs };
  const queues = createQueues();
  const changes = createChanges({ reader: engine.reader, queues, pools }, quickChanges);
  t.after(() => changes.close());
  const { app, ...parts } = createGateway({
    ...times,
    queues,
    ...(options.tellsChanges && { events: changes }),
    engine,
    log,
    checkpoint,
    signDetached,
    openConsole,
    publicDocs,
    audience: 'fairlead',
    configuration: {
      pools,
      clusters: () => clusters,
      enrolment: () => enrolment,
      refusedKeys: () => [],
      faults: () => [],
    },
  });
  const backend = Object.values(backends)[0] as B;
  await fill(parts, backend, options);
  const send: Gateway['send'] = async (route, { as = 'a', body, headers = {}, signal } = {}) => {
    const [method = 'GET', path = '/'] = route.split(' ');
    const token = await signers[as]?.sign();
    return app.request(path, {
      method,
      headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
      ...(signal && { signal }),
      ...(body !== undefined && { body: isSentAsItIs(body) ? body : JSON.stringify(body) }),
      ...(body instanceof ReadableStream && { duplex: 'half' }),
    });
  };
  return {
    ...parts,
    ...createClusterCalls(parts),
    backend,
    backends,
    replica: (others = {}) => openGateway(t, { ...kept, pools: backends, store, ...others }),
    logLines: lines,
    send,
    async ask(route, asked) {
      const [method = 'GET', path = '/'] = route.split(' ');
      const response = await send(route, asked);
      const text = await response.text();
      const value: unknown = text === '' ? undefined : JSON.parse(text);
      const { status } = response;
      if (path.startsWith('/v1/')) requireDocumented(method, path, { status, value });
      return { status, headers: response.headers, body: (value ?? {}) as Answer['body'] };
    },
  };
}

async function backendsOf({ pools = ['main'], backend, capacity, own }: GatewayOptions) {
  if (own && (backend || !Array.isArray(pools))) throw new Error('own changes memories that are opened here');
  if (backend) return { main: backend };
  if (!Array.isArray(pools)) return pools;
  const opened = pools.map(async (name: string) => {
    const memory = await openMemory(capacity);
    const all = { ...memory, ...(typeof own === 'function' ? own(memory as Whole) : own) } as MemoryBackend;
    return [name, createFaultyBackend(all)] as const;
  });
  return Object.fromEntries(await Promise.all(opened));
}

async function fill(
  { volumes: service, nodes: reports }: Pick<Gateway, 'volumes' | 'nodes'>,
  backend: Backend,
  { volumes = [], orphans = [], nodes = [] }: Pick<GatewayOptions, 'volumes' | 'orphans' | 'nodes'>,
): Promise<void> {
  for (const name of volumes) await service.create(clusters.a, `a.${name}`, volumeSpec(name));
  for (const nodeId of nodes) await reports.put(clusters.a, nodeId, {});
  for (const id of orphans) await backend.create(newVolume(id));
  // The calls of a test start after that.
  if (volumes.length + orphans.length > 0 && 'calls' in backend) (backend.calls as string[]).length = 0;
}

function isSentAsItIs(body: unknown): body is string | Blob | ReadableStream {
  return typeof body === 'string' || body instanceof Blob || body instanceof ReadableStream;
}

/** Expires all claims in the store, as time does when their holders have died. */
export async function endClaims({ engine }: Pick<Gateway, 'engine'>): Promise<void> {
  await engine.transaction(sql => sql.run('update claims set until_ms = 0'));
}

/** Opens an empty memory backend with this capacity in bytes, or with one for each of several topologies. */
export async function openMemory(capacity: number | readonly Space[] = 2 ** 40): Promise<MemoryBackend> {
  return typeof capacity === 'number' ? openMemoryBackend({ capacity }) : openPlaced(capacity);
}

/** Fails unless the answer is a problem document with this status and code. */
export function assertProblem({ status, headers, body }: Answer, expected: number, code: string): void {
  assert.equal(status, expected, JSON.stringify(body));
  assert.equal(headers.get('content-type'), 'application/problem+json');
  assert.equal(body['code'], code);
  assert.equal(body['status'], expected);
  assert.equal(body['requestId'], headers.get('x-request-id'));
  assert.ok(body['type'] && body['title'] && body['detail']);
}

async function allSigners(): Promise<Readonly<Record<string, Signer>>> {
  const all = Object.keys(callers).map(async name => [name, await signerOf(name)] as const);
  return Object.fromEntries(await Promise.all(all));
}
