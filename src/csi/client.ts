import {
  credentials,
  type CallOptions,
  type Client,
  type ClientReadableStream,
  type MethodDefinition,
  type ServiceDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { Problem, problemTable, type ProblemCode } from '../api/problem.ts';
import type { ControllerDefinition } from './generated/csi/v1/Controller.ts';
import type { GroupControllerDefinition } from './generated/csi/v1/GroupController.ts';
import type { IdentityDefinition } from './generated/csi/v1/Identity.ts';
import type { NodeDefinition } from './generated/csi/v1/Node.ts';
import type { SnapshotMetadataDefinition } from './generated/csi/v1/SnapshotMetadata.ts';
import { loadCsi, type Csi } from './protocol.ts';

/** A service's RPCs as functions that answer so; `timeoutMs` is the deadline (default 60 s). Errors are a `Problem`. */
type Calls<Definition, IsStream> = {
  readonly [K in keyof Definition as string extends K ? never : K]: Definition[K] extends Pick<
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
export interface CsiClient {
  readonly identity: Calls<IdentityDefinition, false>;
  readonly controller: Calls<ControllerDefinition, false>;
  readonly groupController: Calls<GroupControllerDefinition, false>;
  readonly snapshotMetadata: Calls<SnapshotMetadataDefinition, true>;
  readonly node: Calls<NodeDefinition, false>;
  close(): void;
}

const defaultTimeoutMs = 60_000;
const codesByNumber = new Map(
  Object.entries(problemTable).map(([code, row]) => [row.grpc as number, code as ProblemCode]),
);

/** The protocol, loaded at the first connection. */
let loaded: Csi | undefined;

/** Connects to a CSI endpoint such as `unix:///csi/csi.sock`; the connection is opened at the first call. */
export function connectCsi(endpoint: string): CsiClient {
  const csi = (loaded ??= loadCsi());
  const clients: Client[] = [];
  const connect = <Name extends keyof Csi, Answered extends CsiClient[keyof CsiClient]>(
    name: Name,
  ): Answered => {
    const client = new csi[name](endpoint, credentials.createInsecure());
    clients.push(client);
    return toCalls(client, csi[name].service) as Answered;
  };
  return {
    identity: connect('Identity'),
    controller: connect('Controller'),
    groupController: connect('GroupController'),
    snapshotMetadata: connect('SnapshotMetadata'),
    node: connect('Node'),
    close: () => clients.forEach(client => client.close()),
  };
}

type Invoke = (
  request: unknown,
  options: CallOptions,
  callback?: (error: ServiceError | null, response: unknown) => void,
) => ClientReadableStream<unknown>;

function toCalls(client: Client, definition: ServiceDefinition): object {
  const methods = client as unknown as Readonly<Record<string, Invoke>>;
  const entries = Object.entries(definition).map(([rpc, { responseStream }]) => {
    const invoke = methods[rpc]?.bind(client) as Invoke;
    return [rpc, responseStream ? toStream(invoke) : toCall(invoke)];
  });
  return Object.fromEntries(entries) as object;
}

function toCall(invoke: Invoke) {
  return (request: unknown, timeoutMs = defaultTimeoutMs): Promise<unknown> => {
    const { promise, resolve, reject } = Promise.withResolvers();
    invoke(request, { deadline: Date.now() + timeoutMs }, (error, response) => {
      if (error) reject(toProblem(error));
      else resolve(response);
    });
    return promise;
  };
}

function toStream(invoke: Invoke) {
  return async function* (request: unknown, timeoutMs = defaultTimeoutMs): AsyncGenerator<unknown> {
    const stream = invoke(request, { deadline: Date.now() + timeoutMs });
    try {
      yield* stream;
    } catch (error) {
      throw toProblem(error as ServiceError);
    } finally {
      stream.cancel();
    }
  };
}

function toProblem(error: ServiceError): Problem {
  return new Problem(codesByNumber.get(error.code) ?? 'UNAVAILABLE', error.details, error);
}
