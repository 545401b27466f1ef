import { isDeepStrictEqual } from 'node:util';
import { volumeNamed } from '../../../examples/vendor-hono/disk.ts';
import { requireFree } from '../../../examples/vendor-hono/volumes.ts';
import { Problem } from '../../../src/sdk/server/vendor.ts';
import type { AttachmentResource } from '../../../src/sdk/server/vendor.ts';
import { changeAnswer, type Breakage, type Members } from './broken/breakage.ts';
import { openRecord } from './groups-and-nodes.ts';

/** A correct vendor that differs from the reference vendor. */
type Correct = Pick<Breakage, 'operations' | 'offer'> & {
  /** What it does, as the end of "a vendor that". */
  readonly does: string;
  /** Requirements, sections or chapters that its difference concerns. */
  readonly only: readonly string[];
};

/** The nodes that have a volume, each with its request and its attachment. */
type Holders = Readonly<Record<string, { readonly spec: object; readonly resource: AttachmentResource }>>;

const tiers = {
  type: 'object',
  additionalProperties: false,
  properties: { label: { enum: ['standard', 'fast'], default: 'standard' } },
};
const withTiers: NonNullable<Correct['offer']> = right => ({
  ...right,
  parameters: { ...right.parameters, mutable: tiers },
});
const withManyWriters: NonNullable<Correct['offer']> = right => ({
  ...right,
  accessModes: ['MULTI_NODE_READER_ONLY', 'MULTI_NODE_MULTI_WRITER'],
});

/** Correct vendors by name. The kit must find nothing in them. */
export const correctVendors: Readonly<Record<string, Correct>> = {
  'default-tier': {
    does: 'gives each volume the default of a mutable parameter',
    only: ['FL-3.2'],
    offer: withTiers,
    operations: right => ({
      getCapabilities: () => [200, withTiers(right.getCapabilities()[1])],
      createVolume(asked) {
        const mutableParameters = { label: 'standard', ...asked.body.mutableParameters };
        return right.createVolume({ ...asked, body: { ...asked.body, mutableParameters } });
      },
    }),
  },
  'many-writers': {
    does: 'offers no access mode for a single node',
    only: ['FL-4', 'FL-8'],
    offer: withManyWriters,
    operations: (right, disk) => {
      const holders = openRecord<Holders>(disk, 'holders');
      const holdersOf = (volumeId: string): Holders => holders.find(volumeId) ?? {};
      const show = (volume: Members): Members => ({
        ...volume,
        attachments: Object.entries(holdersOf(volume.id)).map(([nodeId, { resource }]) => ({
          nodeId,
          state: 'attached',
          readonly: resource.readonly,
        })),
      });
      return {
        getCapabilities: () => [200, withManyWriters(right.getCapabilities()[1])],
        createVolume: asked => changeAnswer(right.createVolume(asked), show),
        getVolume: asked => changeAnswer(right.getVolume(asked), show),
        expandVolume: asked => changeAnswer(right.expandVolume(asked), show),
        modifyVolume: asked => changeAnswer(right.modifyVolume(asked), show),
        listVolumes: asked =>
          changeAnswer(right.listVolumes(asked), ({ volumes }) => ({
            volumes: (volumes as readonly Members[]).map(show),
          })),
        deleteVolume(asked) {
          requireFree(Object.keys(holdersOf(asked.volumeId))[0]);
          return right.deleteVolume(asked);
        },
        attachVolume(asked) {
          const { volumeId, nodeId, body } = asked;
          disk.require(volumeNamed(volumeId));
          const others = holdersOf(volumeId);
          const known = others[nodeId];
          if (known && isDeepStrictEqual(known.spec, body)) return [200, known.resource];
          if (known) throw new Problem('ALREADY_EXISTS', `volume "${volumeId}" is attached differently`);
          const [, resource] = right.attachVolume(asked);
          right.detachVolume(asked);
          holders.put(volumeId, { ...others, [nodeId]: { spec: body, resource } });
          return [201, resource];
        },
        getAttachment({ volumeId, nodeId }) {
          const known = holdersOf(volumeId)[nodeId];
          if (known) return [200, known.resource];
          throw new Problem('NOT_FOUND', `volume "${volumeId}" is not attached to node "${nodeId}"`);
        },
        detachVolume({ volumeId, nodeId }) {
          const { [nodeId]: _, ...others } = holdersOf(volumeId);
          if (Object.keys(others).length > 0) holders.put(volumeId, others);
          else holders.remove(volumeId);
          return [204];
        },
      };
    },
  },
};
