import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { Problem, toDocument, type ProblemCode } from '../../src/api/problem.ts';
import type { Volume } from '../../src/api/volume.ts';
import type { Group, Snapshot } from '../../src/api/snapshot.ts';

/** A request as it came over the wire. */
type ReceivedRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
};

/** An answer, or a function that handles the request. */
export type Step =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: unknown }
  | ((request: IncomingMessage, response: ServerResponse) => void);

/** A server that answers by its script: one step for each request, the last step for all further ones. */
export interface StorageApi {
  readonly url: string;
  readonly port: number;
  readonly received: readonly ReceivedRequest[];
  readonly connections: ReadonlySet<Socket>;
  /** Resolves when this many requests have arrived since the start. */
  until(count: number): Promise<void>;
  close(): Promise<void>;
}

/** The address to listen on, for tests that need a certain one. */
export type Place = { readonly host: string; readonly port: number };

/** Starts a scripted server that ends with its test. */
export async function startStorageApi(
  t: TestContext,
  script: readonly Step[],
  place: Place = { host: '127.0.0.1', port: 0 },
): Promise<StorageApi> {
  const received: ReceivedRequest[] = [];
  const connections = new Set<Socket>();
  const events = new EventEmitter();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('error', () => {});
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const step = script[Math.min(received.length, script.length - 1)];
      received.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
      if (typeof step === 'function') step(request, response);
      else if (step) answer(response, step);
      events.emit('received');
    });
  });
  server.on('connection', socket => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  server.listen(place.port, place.host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const api: StorageApi = {
    url: `http://${place.host}:${port}`,
    port,
    received,
    connections,
    async until(count) {
      while (received.length < count) await once(events, 'received');
    },
    async close() {
      if (!server.listening) return;
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  t.after(() => api.close());
  return api;
}

/** Makes an address of loopback that no other test uses, so that a port on it can be released and taken again. */
export function ownHost(): string {
  const bytes = Array.from({ length: 3 }, () => 1 + Math.floor(Math.random() * 250));
  return `127.${bytes.join('.')}`;
}

export function json(status: number, body: unknown, headers: Record<string, string> = {}): Step {
  return { status, body, headers: { 'content-type': 'application/json', ...headers } };
}

/** Makes a problem document, by default with the status of its code. */
export function problem(code: ProblemCode, detail: string, status?: number): Step {
  const document = toDocument(new Problem(code, detail), 'r-1');
  return json(status ?? document.status, document, { 'content-type': 'application/problem+json' });
}

/** Reads the request and resets the connection. */
export const reset: Step = (_request, response) => void response.socket?.resetAndDestroy();

/** Reads the request and never answers. */
export const hang: Step = () => {};

/** Makes a volume as the API shows it. */
export function sampleVolume(fields: Partial<Volume> = {}): Volume {
  return {
    id: 'a.pvc-1',
    name: 'pvc-1',
    pool: 'main',
    state: 'ready',
    sizeBytes: 1_048_576,
    parameters: {},
    context: {},
    attachments: [],
    createdAt: '2026-01-01T00:00:00.000Z',
    ...fields,
  };
}

/** Makes a snapshot as the API shows it. */
export function sampleSnapshot(fields: Partial<Snapshot> = {}): Snapshot {
  return {
    id: 'a.snap-1',
    name: 'snap-1',
    pool: 'main',
    volumeId: 'a.pvc-1',
    state: 'ready',
    sizeBytes: 1_048_576,
    createdAt: '2026-01-01T00:00:00.250Z',
    ...fields,
  };
}

/** Makes a group with two members as the API shows it. */
export function sampleGroup(fields: Partial<Group> = {}): Group {
  const members = ['a.one', 'a.two'].map(volumeId =>
    sampleSnapshot({ id: `${volumeId}-cut`, volumeId, groupId: 'a.group-1' }),
  );
  const createdAt = '2026-01-01T00:00:00.250Z';
  return { id: 'a.group-1', name: 'group-1', state: 'ready', snapshots: members, createdAt, ...fields };
}

function answer(response: ServerResponse, step: Exclude<Step, (...args: never[]) => unknown>): void {
  response.writeHead(step.status, step.headers);
  response.end(
    step.body === undefined || typeof step.body === 'string' ? step.body : JSON.stringify(step.body),
  );
}
