import * as z from 'zod';
import { capabilityList, capabilitySchema, poolName, segmentsSchema, sizeBytes, text } from '../storage.ts';
import { existingVolumeSchema, grantSpecSchema, volumeSchema } from '../volume.ts';
import { dryRun } from './actions.ts';

const isTrue = z
  .enum(['true', 'false'])
  .default('false')
  .transform(given => given === 'true');

/** The grant of an operator. */
export const adminGrantSpecSchema = grantSpecSchema
  .extend({ dryRun })
  .meta({ id: 'AdminGrantSpec', description: 'The access of another cluster to a volume.' });

export const revocationQuery = z.object({
  force: isTrue.describe("`true`: the volume is first detached from the cluster's nodes."),
  dryRun: isTrue.describe('`true`: only says whether the grant can be revoked.'),
});

export const dryRunQuery = z.object({
  dryRun: isTrue.describe('`true`: only says whether this is possible.'),
});

/** The new owner of a transferred volume. */
export const transferSpecSchema = z
  .strictObject({
    cluster: text('west').describe('The cluster that gets it.'),
    name: text('pvc-1').optional().describe('The end of its new id; absent: the end of its present id.'),
    dryRun,
  })
  .meta({ id: 'TransferSpec', description: 'The new owner of a transferred volume.' });

/** An object of the storage to import as a volume. */
export const importSpecSchema = z
  .strictObject({
    pool: poolName,
    storageId: text('old-disk').optional().describe("The storage's name for it; absent: the same as its id."),
    capabilities: capabilityList
      .default([{ accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' }])
      .describe('The capabilities of the volume; by default mounted at one node.'),
    existing: existingVolumeSchema
      .optional()
      .describe(
        'Instead of `storageId`, for a pool over a CSI driver: a volume that the driver made before.',
      ),
    sizeBytes: sizeBytes
      .optional()
      .describe(
        'The size; required if the storage does not report it. Without it, the answer to a dry run has size 0.',
      ),
    topology: segmentsSchema
      .optional()
      .describe('The location; required if the pool has several topologies.'),
    dryRun,
  })
  .meta({ id: 'ImportSpec', description: 'An object of the storage to import as a volume.' });

/** A volume that a transfer or an import gave to a cluster. */
export const ownedVolumeSchema = z
  .object({ volume: volumeSchema, capabilities: z.array(capabilitySchema) })
  .meta({
    id: 'OwnedVolume',
    description: 'A volume that a transfer or an import gave to a cluster, and its capabilities.',
  });

export type OwnedVolume = z.infer<typeof ownedVolumeSchema>;
