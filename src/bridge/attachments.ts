import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { toDriverSecrets } from '../api/attachments/driver-secrets.ts';
import type { AttachmentResource, AttachmentSpec } from '../api/node.ts';
import { toCsiCapability } from '../csi/request.ts';
import { preconditionProblem, Problem } from '../api/problem.ts';
import type { VendorOperations } from '../sdk/server/vendor.ts';
import { isMissing, isOpen, type Bridge, type Driver } from './driver.ts';
import type { NodeIdRule } from './node-ids.ts';
import {
  isCreated,
  type AttachmentRecord,
  type CreatedResource,
  type Texts,
  type WithId,
} from './records.ts';
import { isReadonly, requireReady } from './volumes.ts';

type NodeBridge = Bridge & { readonly nodeIdOf: NodeIdRule };

/**
 * Creates the operations on attachments and nodes. An attachment names the driver and its volume; all that the driver's
 * node plugin needs besides, its contexts and secrets, is secret to the node.
 */
export function createAttachments(bridge: NodeBridge) {
  const { driver, records, nodeIdOf } = bridge;
  return {
    async attachVolume({ volumeId, nodeId, body }) {
      const volume = requireReady(records, volumeId);
      const known = volume.attachments[nodeId];
      if (known && !isDeepStrictEqual(known.spec, body))
        throw new Problem('ALREADY_EXISTS', `volume "${volumeId}" is attached differently`);
      if (known?.publishContext) return [200, toResource(bridge, volume, nodeId)];
      requireCompatible(volume, nodeId, body);
      const node = records.find('node', nodeId);
      if (!node) throw new Problem('NOT_FOUND', `node "${nodeId}" is not recorded; report it first`);
      const isRaw = body.capability.accessType === 'block';
      const wanted = known ?? {
        spec: body,
        attachmentId: randomUUID(),
        driverNodeId: nodeIdOf(node),
        sizeBytes: volume.made.sizeBytes,
        mayFormat: !isRaw && !volume.holdsData,
      };
      const intended = {
        ...volume,
        holdsData: volume.holdsData || (isRaw && !isReadonly(body)),
        attachments: { ...volume.attachments, [nodeId]: wanted },
      };
      records.put('volume', intended);
      const publishContext = await publish(driver, volume, wanted).catch((error: unknown) => {
        if (!isOpen(error)) records.put('volume', volume);
        throw error;
      });
      const attachments = { ...volume.attachments, [nodeId]: { ...wanted, publishContext } };
      const attached = { ...intended, attachments };
      records.put('volume', attached);
      return [201, toResource(bridge, attached, nodeId)];
    },

    getAttachment({ volumeId, nodeId }) {
      const volume = records.find('volume', volumeId);
      if (volume && isCreated(volume) && volume.attachments[nodeId])
        return [200, toResource(bridge, volume, nodeId)];
      throw new Problem('NOT_FOUND', `volume "${volumeId}" is not attached to node "${nodeId}"`);
    },

    async detachVolume({ volumeId, nodeId }) {
      const volume = records.find('volume', volumeId);
      const { [nodeId]: known, ...others } = volume?.attachments ?? {};
      if (!volume?.made || !known) return [204];
      await unpublish(driver, volume.made.handle, known);
      records.put('volume', { ...volume, attachments: others });
      return [204];
    },

    putNode({ nodeId, body }) {
      const found = records.find('node', nodeId);
      const node = { id: nodeId, spec: body };
      // Refuses a node without an id at the driver before a volume is attached to it.
      nodeIdOf(node);
      if (!isDeepStrictEqual(found?.spec, body)) records.put('node', node);
      return [found ? 200 : 201, { id: nodeId, ...body }];
    },

    deleteNode({ nodeId }) {
      const held = records.volumeOn(nodeId);
      if (held !== undefined) throw preconditionProblem(`volume "${held}" is attached to node "${nodeId}"`);
      records.drop('node', nodeId);
      return [204];
    },
  } satisfies VendorOperations;
}

async function publish(
  driver: Driver,
  { made }: CreatedResource<'volume'>,
  wanted: AttachmentRecord,
): Promise<Texts> {
  if (!driver.can('PUBLISH_UNPUBLISH_VOLUME')) return {};
  const { capability } = wanted.spec;
  const answer = await driver.calls.controller.ControllerPublishVolume(
    {
      volume_id: made.handle,
      node_id: wanted.driverNodeId,
      volume_capability: toCsiCapability(capability),
      readonly: driver.can('PUBLISH_READONLY') && isReadonly(wanted.spec),
      secrets: driver.secrets('publish'),
      volume_context: { ...made.context },
    },
    driver.timeoutMs,
  );
  return answer.publish_context;
}

/** A volume or a node that the driver no longer knows is not published. */
async function unpublish(driver: Driver, handle: string, { driverNodeId }: AttachmentRecord): Promise<void> {
  if (!driver.can('PUBLISH_UNPUBLISH_VOLUME')) return;
  const request = { volume_id: handle, node_id: driverNodeId, secrets: driver.secrets('publish') };
  await driver.calls.controller
    .ControllerUnpublishVolume(request, driver.timeoutMs)
    .catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
}

/** FAILED_PRECONDITION if the volume's attachments to other nodes forbid this one. */
function requireCompatible(volume: WithId<'volume'>, nodeId: string, wanted: AttachmentSpec): void {
  for (const [holder, { spec }] of Object.entries(volume.attachments)) {
    if (holder === nodeId) continue;
    const modes = [spec, wanted].map(({ capability }) => capability.accessMode);
    const areShared = modes.every(mode => mode.startsWith('MULTI_NODE_'));
    const writers = [spec, wanted].filter(use => !isReadonly(use));
    const mayAllWrite = modes.every(mode => mode === 'MULTI_NODE_MULTI_WRITER');
    if (areShared && (writers.length < 2 || mayAllWrite)) continue;
    throw preconditionProblem(`volume "${volume.id}" is attached to node "${holder}"`);
  }
}

function toResource(
  { driver }: Bridge,
  volume: CreatedResource<'volume'>,
  nodeId: string,
): AttachmentResource {
  const known = volume.attachments[nodeId] as AttachmentRecord;
  const { attachmentId, sizeBytes, mayFormat, publishContext, spec, driverNodeId } = known;
  const readonly = isReadonly(spec);
  const resource = { volumeId: volume.id, nodeId, readonly };
  if (!publishContext) return { ...resource, state: 'attaching' };
  const { handle, context } = volume.made;
  const attachment = {
    protocol: 'csi' as const,
    driver: driver.name,
    handle,
    driverNodeId,
    attachmentId,
    sizeBytes,
    readonly,
    mayFormat,
    secrets: {
      ...toDriverSecrets('publish-context', publishContext),
      ...toDriverSecrets('volume-context', context),
      ...toDriverSecrets('stage-secret', driver.secrets('stage')),
      ...toDriverSecrets('publish-secret', driver.secrets('node-publish')),
      ...toDriverSecrets('expand-secret', driver.secrets('node-expand')),
    },
  };
  return { ...resource, state: 'attached', attachment };
}
