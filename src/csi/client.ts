import {
  Client,
  credentials,
  type MethodDefinition,
  type ServiceDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { Problem, problemTable, type ProblemCode } from '../api/problem.ts';
import { loadCsi, type Csi } from './protocol.ts';

/** A service's RPCs as functions that answer so; `timeoutMs` is the deadline (default 60 s). Errors are a `Problem`. */
type Calls<Name extends keyof Csi, IsStream = false, Rpcs = Csi[Name]['service']> = {
  readonly [K in keyof Rpcs as string extends K ? never : K]: Rpcs[K] extends Pick<
    MethodDefinition<infer Request, infer Response>,
    'requestSerialize' | 'responseDeserialize'
  >
    ? (
        request: Request,
        timeoutMs?: number,
      ) => IsStream extends true ? AsyncIterable<Response> : Promise<Response>
    : never;
};

/** The CSI services of one socket, as a sidecar or kubelet calls them. */
export type CsiClient = {
  readonly identity: Calls<'Identity'>;
  readonly controller: Calls<'Controller'>;
  readonly groupController: Calls<'GroupController'>;
  readonly snapshotMetadata: Calls<'SnapshotMetadata', true>;
  readonly node: Calls<'Node'>;
  close(): void;
};

const defaultTimeoutMs = 60_000;
const codesByNumber = new Map(
  Object.entries(problemTable).map(([code, row]) => [row.grpc as number, code as ProblemCode]),
);

/** Connects to a CSI endpoint such as `unix:///csi/csi.sock`; the connection is opened at the first call. */
export function connectCsi(endpoint: string): CsiClient {
  const csi = loadCsi();
  const client = new Client(endpoint, credentials.createInsecure());
  return {
    identity: toCalls(client, csi.Identity.service) as Calls<'Identity'>,
    controller: toCalls(client, csi.Controller.service) as Calls<'Controller'>,
    groupController: toCalls(client, csi.GroupController.service) as Calls<'GroupController'>,
    snapshotMetadata: toCalls(client, csi.SnapshotMetadata.service) as Calls<'SnapshotMetadata', true>,
    node: toCalls(client, csi.Node.service) as Calls<'Node'>,
    close: () => client.close(),
  };
}

function toCalls(client: Client, definition: ServiceDefinition): object {
  const calls = Object.entries(definition).map(([rpc, method]) => [
    rpc,
    (request: object, timeoutMs = defaultTimeoutMs) =>
      (method.responseStream ? stream : call)(client, method, { request, deadline: Date.now() + timeoutMs }),
  ]);
  return Object.fromEntries(calls) as object;
}

type Method = ServiceDefinition[string];
type Asked = { readonly request: object; readonly deadline: number };

function call(client: Client, method: Method, { request, deadline }: Asked): Promise<unknown> {
  const { path, requestSerialize, responseDeserialize } = method;
  const { promise, resolve, reject } = Promise.withResolvers();
  client.makeUnaryRequest(
    path,
    requestSerialize,
    responseDeserialize,
    request,
    { deadline },
    (error, answer) => {
      if (error) reject(toProblem(error));
      else resolve(answer);
    },
  );
  return promise;
}

async function* stream(
  client: Client,
  method: Method,
  { request, deadline }: Asked,
): AsyncGenerator<unknown> {
  const { path, requestSerialize, responseDeserialize } = method;
  const messages = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, {
    deadline,
  });
  try {
    yield* messages;
  } catch (error) {
    throw toProblem(error as ServiceError);
  } finally {
    messages.cancel();
  }
}

function toProblem(error: ServiceError): Problem {
  return new Problem(codesByNumber.get(error.code) ?? 'UNAVAILABLE', error.details, error);
}
