import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { toDriverSecrets } from '../api/attachments/driver-secrets.ts';
import type { AttachmentResource, AttachmentSpec } from '../api/node.ts';
import { preconditionProblem, Problem } from '../api/problem.ts';
import { toCsiCapability } from '../csi/request.ts';
import type { VendorOperations } from '../sdk/server/vendor.ts';
import { isMissing, isOpen, type Bridge, type Driver } from './driver.ts';
import type { NodeIdRule } from './node-ids.ts';
import { isCreated, type AttachmentRecord, type CreatedResource, type Texts } from './records.ts';
import { createResources } from './resources.ts';
import { isReadonly } from './volumes.ts';

type Volume = CreatedResource<'volume'>;

/**
 * Creates the operations on attachments and nodes. An attachment names the driver and its volume; all that the driver's
 * node plugin needs besides, its contexts and secrets, is secret to the node.
 */
export function createAttachments(bridge: Bridge, nodeIdOf: NodeIdRule) {
  const { driver, records } = bridge;
  const { requireCreated } = createResources(bridge, 'volume');
  return {
    async attachVolume({ volumeId, nodeId, body }) {
      const volume = requireCreated(volumeId);
      const known = volume.attachments[nodeId];
      if (known && !isDeepStrictEqual(known.spec, body))
        throw new Problem('ALREADY_EXISTS', `volume "${volumeId}" is attached differently`);
      if (known?.publishContext) return [200, toResource(driver, volume, { nodeId, ...known })];
      requireCompatible(volume, nodeId, body);
      const node = records.find('node', nodeId);
      if (!node) throw new Problem('NOT_FOUND', `node "${nodeId}" is not recorded; report it first`);
      const wanted = known ?? { spec: body, attachmentId: randomUUID(), driverNodeId: nodeIdOf(node) };
      const put = (attachment: AttachmentRecord) =>
        records.put('volume', { ...volume, attachments: { ...volume.attachments, [nodeId]: attachment } });
      put(wanted);
      const publishContext = await publish(driver, volume, wanted).catch((error: unknown) => {
        if (!isOpen(error)) records.put('volume', volume);
        throw error;
      });
      put({ ...wanted, publishContext });
      return [201, toResource(driver, volume, { nodeId, ...wanted, publishContext })];
    },

    getAttachment({ volumeId, nodeId }) {
      const volume = records.find('volume', volumeId);
      const known = volume?.attachments[nodeId];
      if (known && isCreated(volume)) return [200, toResource(driver, volume, { nodeId, ...known })];
      throw new Problem('NOT_FOUND', `volume "${volumeId}" is not attached to node "${nodeId}"`);
    },

    async detachVolume({ volumeId, nodeId }) {
      const volume = records.find('volume', volumeId);
      const { [nodeId]: known, ...attachments } = volume?.attachments ?? {};
      if (!volume?.made || !known) return [204];
      await unpublish(driver, volume.made.handle, known);
      records.put('volume', { ...volume, attachments });
      return [204];
    },

    putNode({ nodeId: id, body }) {
      const found = records.find('node', id);
      // Refuses a node without an id at the driver before a volume is attached to it.
      nodeIdOf({ id, spec: body });
      if (!isDeepStrictEqual(found?.spec, body)) records.put('node', { id, spec: body });
      return [found ? 200 : 201, { id, ...body }];
    },

    deleteNode({ nodeId }) {
      const held = records.volumeOn(nodeId);
      if (held) throw preconditionProblem(`volume "${held.id}" is attached to node "${nodeId}"`);
      records.drop('node', nodeId);
      return [204];
    },
  } satisfies VendorOperations;
}

async function publish(driver: Driver, { made }: Volume, wanted: AttachmentRecord): Promise<Texts> {
  const { calls, can, secrets } = driver;
  if (!can('PUBLISH_UNPUBLISH_VOLUME')) return {};
  const answer = await calls.controller.ControllerPublishVolume({
    volume_id: made.handle,
    node_id: wanted.driverNodeId,
    volume_capability: toCsiCapability(wanted.spec.capability),
    readonly: can('PUBLISH_READONLY') && isReadonly(wanted.spec),
    secrets: secrets('publish'),
    volume_context: { ...made.context },
  });
  return answer.publish_context;
}

/** A volume or a node that the driver no longer knows is not published. */
async function unpublish(driver: Driver, handle: string, { driverNodeId }: AttachmentRecord): Promise<void> {
  const { calls, can, secrets } = driver;
  if (!can('PUBLISH_UNPUBLISH_VOLUME')) return;
  const request = { volume_id: handle, node_id: driverNodeId, secrets: secrets('publish') };
  await calls.controller.ControllerUnpublishVolume(request).catch((error: unknown) => {
    if (!isMissing(error)) throw error;
  });
}

/** FAILED_PRECONDITION if the volume's attachments to other nodes forbid this one. */
function requireCompatible({ id, attachments }: Volume, nodeId: string, wanted: AttachmentSpec): void {
  for (const [holder, { spec }] of Object.entries(attachments)) {
    if (holder === nodeId) continue;
    const modes = [spec, wanted].map(({ capability }) => capability.accessMode);
    const areShared = modes.every(mode => mode.startsWith('MULTI_NODE_'));
    const writers = [spec, wanted].filter(use => !isReadonly(use));
    const mayAllWrite = modes.every(mode => mode === 'MULTI_NODE_MULTI_WRITER');
    if (areShared && (writers.length < 2 || mayAllWrite)) continue;
    throw preconditionProblem(`volume "${id}" is attached to node "${holder}"`);
  }
}

type Attached = AttachmentRecord & { readonly nodeId: string };

function toResource({ name, secrets }: Driver, { id, made }: Volume, attached: Attached): AttachmentResource {
  const { nodeId, spec, attachmentId, driverNodeId, publishContext } = attached;
  const readonly = isReadonly(spec);
  const resource = { volumeId: id, nodeId, readonly };
  if (!publishContext) return { ...resource, state: 'attaching' };
  const attachment = {
    protocol: 'csi' as const,
    driver: name,
    handle: made.handle,
    driverNodeId,
    attachmentId,
    sizeBytes: made.sizeBytes,
    readonly,
    // The driver's node plugin makes filesystems, and only where it finds none.
    mayFormat: false,
    secrets: {
      ...toDriverSecrets('publish-context', publishContext),
      ...toDriverSecrets('volume-context', made.context),
      ...toDriverSecrets('stage-secret', secrets('stage')),
      ...toDriverSecrets('publish-secret', secrets('node-publish')),
      ...toDriverSecrets('expand-secret', secrets('node-expand')),
    },
  };
  return { ...resource, state: 'attached', attachment };
}
