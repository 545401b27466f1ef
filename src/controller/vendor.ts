import type { StorageClient } from '../api/client.ts';
import { Problem } from '../api/problem.ts';
import { type Capabilities, hasFeature } from '../api/storage.ts';
import type { Validation, ValidationSpec, Volume } from '../api/volume.ts';
import { sameJson } from '../lib/json.ts';

/** True for a vendor's own storage. A vendor reports no pools, a gateway always does. */
export function isVendor({ pools }: Capabilities): boolean {
  return pools.length === 0;
}

/**
 * Wraps the client for a storage that may be a vendor's. A vendor serves only a part of the API, so the wrapper makes
 * up the other calls from this part, and reports nodes only if the vendor wants them. Calls to a gateway pass
 * unchanged.
 */
export function createStorage(
  client: StorageClient,
  known: { readonly get: () => Capabilities },
): StorageClient {
  return {
    ...client,
    async validateVolume({ volumeId, body }, call) {
      const storage = known.get();
      if (!isVendor(storage)) return client.validateVolume({ volumeId, body }, call);
      return validate(await client.getVolume({ volumeId }, call), body, storage);
    },
    async detachVolumeFromAllNodes({ volumeId }, call) {
      if (!isVendor(known.get())) return client.detachVolumeFromAllNodes({ volumeId }, call);
      const volume = await client.getVolume({ volumeId }, call).catch(ignoreMissing);
      for (const { nodeId } of volume?.attachments ?? [])
        await client.detachVolume({ volumeId, nodeId }, call);
    },
    // An empty list makes each comparison report all nodes, and delete none.
    listNodes: async (page, call) => (isVendor(known.get()) ? { nodes: [] } : client.listNodes(page, call)),
    putNode: async ({ nodeId, body }, call) =>
      isVendor(known.get()) && !hasFeature(known.get(), 'nodes')
        ? { id: nodeId, ...body }
        : client.putNode({ nodeId, body }, call),
  };
}

function validate(
  volume: Volume,
  { capabilities, parameters, context, mutableParameters }: ValidationSpec,
  { accessModes, accessTypes }: Capabilities,
): Validation {
  const id = `volume "${volume.id}"`;
  const unsupported = capabilities.find(
    ({ accessMode, accessType }) => !accessModes.includes(accessMode) || !accessTypes.includes(accessType),
  );
  const differences = [
    [
      !unsupported,
      `the storage does not offer ${unsupported?.accessMode} for volumes of type ${unsupported?.accessType}`,
    ],
    [!parameters || sameJson(parameters, volume.parameters), `${id} was created with other parameters`],
    [!context || sameJson(context, volume.context), `${id} has another context`],
    [
      !mutableParameters || sameJson(mutableParameters, volume.mutableParameters ?? {}),
      `${id} has other mutable parameters`,
    ],
  ] as const;
  const difference = differences.find(([isSame]) => !isSame);
  return difference ? { confirmed: false, message: difference[1] } : { confirmed: true };
}

function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof Problem && error.code === 'NOT_FOUND')) throw error;
}
