import { openScope, pause, type Call } from './call.ts';
import { createHttp, type Http, type HttpOptions, type HttpRequest } from './http.ts';
import { Problem } from './problem.ts';
import {
  attachmentResourceSchema,
  capabilitiesSchema,
  capacitySchema,
  nodeSchema,
  validationSchema,
  volumePageSchema,
  volumeSchema,
  type AttachmentResource,
  type AttachmentSpec,
  type Capabilities,
  type Capacity,
  type CapacitySpec,
  type Node,
  type NodeSpec,
  type Validation,
  type ValidationSpec,
  type Volume,
  type VolumePage,
  type VolumeSpec,
} from './resources.ts';
import { paths } from './routes.ts';

/**
 * The Storage API v1 as functions. A call that changes something returns only when it is done; one that is still
 * running at its deadline is ABORTED, and the same call later joins it. Every error is a `Problem`.
 */
export interface StorageClient {
  getCapabilities(call: Call): Promise<Capabilities>;
  getCapacity(spec: CapacitySpec, call: Call): Promise<Capacity>;
  createVolume(volumeId: string, spec: VolumeSpec, call: Call): Promise<Volume>;
  getVolume(volumeId: string, call: Call): Promise<Volume>;
  listVolumes(page: PageRequest, call: Call): Promise<VolumePage>;
  deleteVolume(volumeId: string, call: Call): Promise<void>;
  validateVolume(volumeId: string, spec: ValidationSpec, call: Call): Promise<Validation>;
  attachVolume(attachment: AttachmentKey & AttachmentSpec, call: Call): Promise<AttachmentResource>;
  /** Without `nodeId` the volume is detached from all nodes. */
  detachVolume(
    attachment: Partial<AttachmentKey> & Pick<AttachmentKey, 'volumeId'>,
    call: Call,
  ): Promise<void>;
  putNode(nodeId: string, spec: NodeSpec, call: Call): Promise<Node>;
  getNode(nodeId: string, call: Call): Promise<Node>;
  deleteNode(nodeId: string, call: Call): Promise<void>;
  close(): Promise<void>;
}

/** Names one attachment. */
export type AttachmentKey = { readonly volumeId: string; readonly nodeId: string };

/** Which page of a list: at most `limit` entries (0 or absent: as many as one page holds) after `pageToken`. */
export type PageRequest = { readonly limit?: number; readonly pageToken?: string };

/** Pause between two looks at work that the API answered with 202, in milliseconds. */
const pollMs = 250;

/** Makes a client; connections are opened when needed and kept. */
export function createClient(options: HttpOptions): StorageClient {
  const http = createHttp(options);
  return {
    getCapabilities: async call =>
      ask(http, { method: 'GET', path: paths.capabilities, answer: capabilitiesSchema }, call),
    getCapacity: async (body, call) =>
      ask(http, { method: 'POST', path: paths.capacity, body, answer: capacitySchema }, call),
    createVolume: async (id, body, call) =>
      ask(http, { method: 'PUT', path: paths.volume(id), body, answer: volumeSchema }, call),
    getVolume: async (id, call) =>
      ask(http, { method: 'GET', path: paths.volume(id), answer: volumeSchema }, call),
    listVolumes: async (page, call) =>
      ask(http, { method: 'GET', path: listPath(page), answer: volumePageSchema }, call),
    deleteVolume: async (id, call) => remove(http, () => paths.volume(id), call),
    validateVolume: async (id, body, call) =>
      ask(http, { method: 'POST', path: paths.validation(id), body, answer: validationSchema }, call),
    attachVolume: async ({ volumeId, nodeId, ...body }, call) =>
      ask(
        http,
        { method: 'PUT', path: paths.attachment(volumeId, nodeId), body, answer: attachmentResourceSchema },
        call,
      ),
    detachVolume: async ({ volumeId, nodeId }, call) =>
      remove(http, () => (nodeId ? paths.attachment(volumeId, nodeId) : paths.attachments(volumeId)), call),
    putNode: async (id, body, call) =>
      ask(http, { method: 'PUT', path: paths.node(id), body, answer: nodeSchema }, call),
    getNode: async (id, call) => ask(http, { method: 'GET', path: paths.node(id), answer: nodeSchema }, call),
    deleteNode: async (id, call) => remove(http, () => paths.node(id), call),
    close: () => http.close(),
  };
}

async function ask<T>(http: Http, request: HttpRequest<T>, call: Call): Promise<T> {
  const value = await finish(http, request, call);
  if (value === undefined)
    throw new Problem('UNAVAILABLE', `the storage API gave no body to ${request.method} ${request.path}`);
  return value;
}

/** Deletes what is at a path. An id that no path can hold names nothing, and so there is nothing left to delete. */
async function remove(http: Http, pathOf: () => string, call: Call): Promise<void> {
  const path = addressOf(pathOf);
  if (path !== undefined) await finish(http, { method: 'DELETE', path }, call);
}

function addressOf(pathOf: () => string): string | undefined {
  try {
    return pathOf();
  } catch {
    return undefined;
  }
}

async function finish<T>(http: Http, request: HttpRequest<T>, call: Call): Promise<T | undefined> {
  const scope = openScope(call);
  try {
    for (;;) {
      const { value, accepted } = await http.send(request, call);
      if (!accepted) return value;
      if (Date.now() + pollMs >= call.deadlineMs)
        throw new Problem('ABORTED', 'the operation is still running; the same call joins it');
      await pause(scope.signal, pollMs);
    }
  } finally {
    scope.end();
  }
}

function listPath({ limit, pageToken }: PageRequest): string {
  const query = new URLSearchParams();
  if (limit) query.set('limit', String(limit));
  if (pageToken) query.set('pageToken', pageToken);
  return query.size > 0 ? `${paths.volumes}?${query}` : paths.volumes;
}
