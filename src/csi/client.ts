import {
  credentials,
  type Client,
  type ClientReadableStream,
  type MethodDefinition,
  type ServiceError,
} from '@grpc/grpc-js';
import { Problem, problemTable, type ProblemCode } from '../api/problem.ts';
import type { ControllerDefinition } from './generated/csi/v1/Controller.ts';
import type { GroupControllerDefinition } from './generated/csi/v1/GroupController.ts';
import type { IdentityDefinition } from './generated/csi/v1/Identity.ts';
import type { NodeDefinition } from './generated/csi/v1/Node.ts';
import type { SnapshotMetadataDefinition } from './generated/csi/v1/SnapshotMetadata.ts';
import { loadCsi, type Csi } from './protocol.ts';

/** What a method is called with, and what comes back. */
type Called<Request, Response> = Pick<
  MethodDefinition<Request, Response>,
  'requestSerialize' | 'responseDeserialize'
>;

/** A service's unary RPCs as functions; `timeoutMs` is the deadline (default 60 s). Errors are a `Problem`. */
export type CsiCalls<Definition> = {
  readonly [K in keyof Definition as string extends K ? never : K]: Definition[K] extends Called<
    infer Request,
    infer Response
  >
    ? (request: Request, timeoutMs?: number) => Promise<Response>
    : never;
};

/** A service's streaming RPCs as functions: all messages, or what ended the stream early. */
export type CsiStreams<Definition> = {
  readonly [K in keyof Definition as string extends K ? never : K]: Definition[K] extends Called<
    infer Request,
    infer Response
  >
    ? (request: Request, timeoutMs?: number) => AsyncIterable<Response>
    : never;
};

/** The CSI services of one socket, as a sidecar or kubelet calls them. */
export interface CsiClient {
  readonly identity: CsiCalls<IdentityDefinition>;
  readonly controller: CsiCalls<ControllerDefinition>;
  readonly groupController: CsiCalls<GroupControllerDefinition>;
  readonly snapshotMetadata: CsiStreams<SnapshotMetadataDefinition>;
  readonly node: CsiCalls<NodeDefinition>;
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
  const identity = new csi.Identity(endpoint, credentials.createInsecure());
  const controller = new csi.Controller(endpoint, credentials.createInsecure());
  const groups = new csi.GroupController(endpoint, credentials.createInsecure());
  const metadata = new csi.SnapshotMetadata(endpoint, credentials.createInsecure());
  const node = new csi.Node(endpoint, credentials.createInsecure());
  return {
    identity: toCalls(identity, csi.Identity.service),
    controller: toCalls(controller, csi.Controller.service),
    groupController: toCalls(groups, csi.GroupController.service),
    snapshotMetadata: toStreams(metadata, csi.SnapshotMetadata.service),
    node: toCalls(node, csi.Node.service),
    close: () => [identity, controller, groups, metadata, node].forEach(client => client.close()),
  };
}

type Invoke = (
  request: unknown,
  options: object,
  callback: (error: ServiceError | null, response: unknown) => void,
) => void;

function toCalls<Definition extends object>(client: Client, definition: Definition): CsiCalls<Definition> {
  const methods = client as unknown as Readonly<Record<string, Invoke>>;
  const calls = Object.keys(definition).map(rpc => {
    const call = (request: unknown, timeoutMs = defaultTimeoutMs): Promise<unknown> =>
      new Promise((resolve, reject) => {
        methods[rpc]?.call(client, request, { deadline: Date.now() + timeoutMs }, (error, response) => {
          if (error) reject(toProblem(error));
          else resolve(response);
        });
      });
    return [rpc, call];
  });
  return Object.fromEntries(calls) as CsiCalls<Definition>;
}

type InvokeStream = (request: unknown, options: object) => ClientReadableStream<unknown>;

function toStreams<Definition extends object>(
  client: Client,
  definition: Definition,
): CsiStreams<Definition> {
  const methods = client as unknown as Readonly<Record<string, InvokeStream>>;
  const calls = Object.keys(definition).map(rpc => {
    const call = async function* (request: unknown, timeoutMs = defaultTimeoutMs): AsyncGenerator<unknown> {
      const stream = methods[rpc]?.call(client, request, { deadline: Date.now() + timeoutMs });
      try {
        yield* stream ?? [];
      } catch (error) {
        throw toProblem(error as ServiceError);
      } finally {
        stream?.cancel();
      }
    };
    return [rpc, call];
  });
  return Object.fromEntries(calls) as CsiStreams<Definition>;
}

function toProblem(error: ServiceError): Problem {
  return new Problem(codesByNumber.get(error.code) ?? 'UNAVAILABLE', error.details, error);
}
