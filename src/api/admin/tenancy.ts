import { z } from 'zod';
import { capabilityList, capabilitySchema, poolName, segmentsSchema, sizeBytes, text } from '../storage.ts';
import { volumeSchema } from '../volume.ts';

/** How a grant is revoked. */
export const revocationQuery = z.object({
  force: z
    .enum(['true', 'false'])
    .default('false')
    .transform(given => given === 'true')
    .describe('`true`: the volume is detached from the nodes of the cluster first.'),
});

/** Whose a volume is to be. */
export const handOverSpecSchema = z
  .strictObject({
    cluster: text('west').describe('The cluster that gets it.'),
    name: text('pvc-1').optional().describe('What its id there ends with; absent: what it ends with now.'),
  })
  .meta({ id: 'HandOverSpec', description: 'Whose a volume is to be.' });

/** What the storage has, as it is to become a volume. */
export const importSpecSchema = z
  .strictObject({
    pool: poolName,
    storageId: text('old-disk').optional().describe('What the storage calls it; absent: the same as its id.'),
    capabilities: capabilityList
      .default([{ accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' }])
      .describe('The ways in which it is to be used; without them: mounted, at one node.'),
    sizeBytes: sizeBytes.optional().describe('Needed where the storage does not know how large it is.'),
    topology: segmentsSchema
      .optional()
      .describe('Where it is; needed where the pool has several topologies.'),
  })
  .meta({ id: 'ImportSpec', description: 'What the storage has, as it is to become a volume.' });

/** A volume that a cluster got. */
export const ownedVolumeSchema = z
  .object({ volume: volumeSchema, capabilities: z.array(capabilitySchema) })
  .meta({ id: 'OwnedVolume', description: 'A volume that a cluster got, and what it was made for.' });

export type OwnedVolume = z.infer<typeof ownedVolumeSchema>;
