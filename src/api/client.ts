import { ask, remove, withQuery, type PageRequest } from './ask.ts';
import type { Call } from './call.ts';
import { createHttp, type Http, type HttpOptions } from './http.ts';
import {
  attachmentResourceSchema,
  capabilitiesSchema,
  capacitySchema,
  healthPageSchema,
  healthSchema,
  nodeSchema,
  validationSchema,
  volumePageSchema,
  volumeSchema,
  type AttachmentResource,
  type AttachmentSpec,
  type Capabilities,
  type Capacity,
  type CapacitySpec,
  type Health,
  type HealthPage,
  type Node,
  type NodeSpec,
  type SizeSpec,
  type Validation,
  type ValidationSpec,
  type Volume,
  type VolumePage,
  type VolumeSpec,
} from './resources.ts';
import { paths } from './routes.ts';
import { createSnapshotCalls, type SnapshotCalls } from './snapshot-client.ts';

export type { PageRequest } from './ask.ts';

/**
 * The Storage API v1 as functions. A call that changes something returns only when it is done; one that is still
 * running at its deadline is ABORTED, and the same call later joins it. Every error is a `Problem`.
 */
export interface StorageClient extends SnapshotCalls {
  getCapabilities(call: Call): Promise<Capabilities>;
  getCapacity(spec: CapacitySpec, call: Call): Promise<Capacity>;
  createVolume(volumeId: string, spec: VolumeSpec, call: Call): Promise<Volume>;
  getVolume(volumeId: string, call: Call): Promise<Volume>;
  listVolumes(page: PageRequest, call: Call): Promise<VolumePage>;
  deleteVolume(volumeId: string, call: Call): Promise<void>;
  validateVolume(volumeId: string, spec: ValidationSpec, call: Call): Promise<Validation>;
  /** Grows the volume; one that is large enough stays as it is. */
  expandVolume(volumeId: string, spec: SizeSpec, call: Call): Promise<Volume>;
  /** Changes these parameters of the volume and no others. */
  modifyVolume(volumeId: string, mutableParameters: Record<string, string>, call: Call): Promise<Volume>;
  getVolumeHealth(volumeId: string, call: Call): Promise<Health>;
  /** Volumes with which nothing is wrong are left out. */
  listVolumeHealth(page: PageRequest, call: Call): Promise<HealthPage>;
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

/** Makes a client; connections are opened when needed and kept. */
export function createClient(options: HttpOptions): StorageClient {
  const http = createHttp(options);
  return {
    ...createSnapshotCalls(http),
    ...createNodeCalls(http),
    getCapabilities: async call =>
      ask(http, { method: 'GET', path: paths.capabilities, answer: capabilitiesSchema }, call),
    getCapacity: async (body, call) =>
      ask(http, { method: 'POST', path: paths.capacity, body, answer: capacitySchema }, call),
    createVolume: async (id, body, call) =>
      ask(http, { method: 'PUT', path: paths.volume(id), body, answer: volumeSchema }, call),
    getVolume: async (id, call) =>
      ask(http, { method: 'GET', path: paths.volume(id), answer: volumeSchema }, call),
    listVolumes: async (page, call) =>
      ask(http, { method: 'GET', path: withQuery(paths.volumes, page), answer: volumePageSchema }, call),
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
    expandVolume: async (id, body, call) =>
      ask(http, { method: 'PUT', path: paths.size(id), body, answer: volumeSchema }, call),
    modifyVolume: async (id, mutableParameters, call) => {
      const body = { mutableParameters };
      return ask(http, { method: 'PUT', path: paths.parameters(id), body, answer: volumeSchema }, call);
    },
    getVolumeHealth: async (id, call) =>
      ask(http, { method: 'GET', path: paths.health(id), answer: healthSchema }, call),
    listVolumeHealth: async (page, call) =>
      ask(
        http,
        { method: 'GET', path: withQuery(paths.volumesHealth, page), answer: healthPageSchema },
        call,
      ),
    close: () => http.close(),
  };
}

function createNodeCalls(http: Http): Pick<StorageClient, 'putNode' | 'getNode' | 'deleteNode'> {
  return {
    putNode: async (id, body, call) =>
      ask(http, { method: 'PUT', path: paths.node(id), body, answer: nodeSchema }, call),
    getNode: async (id, call) => ask(http, { method: 'GET', path: paths.node(id), answer: nodeSchema }, call),
    deleteNode: async (id, call) => remove(http, () => paths.node(id), call),
  };
}
