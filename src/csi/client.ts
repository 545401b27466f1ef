import {
  Client,
  connectivityState,
  credentials,
  status,
  type MethodDefinition,
  type ServiceDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { Problem, problemTable, type ProblemCode } from '../api/problem.ts';
import { loadCsi, loadNodeCsi, type Csi } from './protocol.ts';

/** A service's RPCs as functions. `timeoutMs` is the deadline. Errors are a `Problem`. */
type Calls<Rpcs, IsStream = false> = {
  readonly [K in keyof Rpcs as string extends K ? never : K]: Rpcs[K] extends Pick<
    MethodDefinition<infer Request, infer Response>,
    'requestSerialize' | 'responseDeserialize'
  >
    ? (request: Request, timeoutMs?: number) => CallResult<Response, IsStream>
    : never;
};
type CallResult<T, IsStream> = IsStream extends true ? AsyncIterable<T> : Promise<T>;

/** The CSI services of one socket, as a sidecar or kubelet calls them. */
export type CsiClient = ReturnType<typeof connectCsi>;

const defaultTimeoutMs = 60_000;
const codesByNumber = new Map(
  Object.entries(problemTable).map(([code, row]) => [row.grpc as number, code as ProblemCode]),
);

/**
 * Connects to a CSI endpoint such as `unix:///csi/csi.sock`; the connection is opened at the first call. Calls without a
 * time limit of their own have `timeoutMs`.
 */
export function connectCsi(endpoint: string, timeoutMs = defaultTimeoutMs) {
  const csi = loadCsi();
  // The first call after a driver's restart succeeds within 5 s; by default the client waits up to two minutes before
  // it connects again.
  const client = new Client(endpoint, credentials.createInsecure(), {
    'grpc.max_reconnect_backoff_ms': 5_000,
  });
  return {
    identity: toCalls(client, csi.Identity, timeoutMs),
    controller: toCalls(client, csi.Controller, timeoutMs),
    groupController: toCalls(client, csi.GroupController, timeoutMs),
    snapshotMetadata: toCalls<Csi['SnapshotMetadata'], true>(client, csi.SnapshotMetadata, timeoutMs),
    node: toCalls(client, csi.Node, timeoutMs),
    close: () => client.close(),
  };
}

/**
 * Creates a probe of the CSI server on a socket. Each call opens a connection of its own, and is true when Probe
 * answers "ready" within `timeoutMs`.
 */
export function createProbe(socketPath: string, timeoutMs: number): () => Promise<boolean> {
  const { Identity } = loadNodeCsi();
  return () =>
    callOnce(socketPath, Identity, ({ Probe }) => Probe({}, timeoutMs)).then(
      ({ ready }) => ready?.value === true,
      () => false,
    );
}

/** Calls a service on a socket over a connection of its own, and closes it afterwards. */
export async function callOnce<Rpcs extends ServiceDefinition, Result>(
  socketPath: string,
  definition: Rpcs,
  work: (calls: Calls<Rpcs>) => Promise<Result>,
): Promise<Result> {
  // All clients share one connection pool by default, and a closed client would leave its connection there.
  const options = { 'grpc.use_local_subchannel_pool': 1 };
  const client = new Client(`unix://${socketPath}`, credentials.createInsecure(), options);
  try {
    return await work(toCalls(client, definition, defaultTimeoutMs));
  } finally {
    client.close();
  }
}

function toCalls<Rpcs extends ServiceDefinition, IsStream = false>(
  client: Client,
  definition: Rpcs,
  usualMs: number,
) {
  const calls = Object.entries<Method>(definition).map(([rpc, method]) => [
    rpc,
    (request: object, timeoutMs = usualMs) =>
      (method.responseStream ? stream : call)(client, method, { request, deadline: Date.now() + timeoutMs }),
  ]);
  return Object.fromEntries(calls) as Calls<Rpcs, IsStream>;
}

type Method = ServiceDefinition[string];
type CallArguments = { readonly request: object; readonly deadline: number };

function call(client: Client, method: Method, { request, deadline }: CallArguments): Promise<unknown> {
  const { path, requestSerialize: write, responseDeserialize: read } = method;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, write, read, request, { deadline }, (error, answer) => {
      if (error) reject(toProblem(client, error));
      else resolve(answer);
    });
  });
}

async function* stream(
  client: Client,
  method: Method,
  { request, deadline }: CallArguments,
): AsyncGenerator<unknown> {
  const { path, requestSerialize: write, responseDeserialize: read } = method;
  const messages = client.makeServerStreamRequest(path, write, read, request, { deadline });
  try {
    yield* messages;
  } catch (error) {
    throw toProblem(client, error as ServiceError);
  } finally {
    messages.cancel();
  }
}

function toProblem(client: Client, error: ServiceError): Problem {
  const channel = client.getChannel();
  // Without a connection the details are words of the library.
  if (error.code === status.UNAVAILABLE && channel.getConnectivityState(false) !== connectivityState.READY)
    return new Problem('UNAVAILABLE', `nothing answers at "${channel.getTarget()}"`, error);
  return new Problem(codesByNumber.get(error.code) ?? 'UNAVAILABLE', error.details, error);
}
