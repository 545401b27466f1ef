import * as z from 'zod';
import { texts } from './pod.ts';

const metadata = {
  name: z.string().min(1),
  labels: texts.optional(),
  annotations: texts.optional(),
};

/** The classes that the chart creates. They have Kubernetes' own fields, plus `pool`, `fsType` and `default`. */
export const classValues = {
  storageClasses: z
    .array(
      z.strictObject({
        ...metadata,
        default: z.boolean().optional(),
        pool: z.string().optional(),
        fsType: z.string().optional(),
        parameters: texts.optional(),
        mountOptions: z.array(z.string()).optional(),
        reclaimPolicy: z.enum(['Delete', 'Retain']).optional(),
        volumeBindingMode: z.enum(['WaitForFirstConsumer', 'Immediate']).optional(),
        allowVolumeExpansion: z.boolean().optional(),
        allowedTopologies: z.array(z.record(z.string(), z.unknown())).optional(),
      }),
    )
    .default([{ name: 'fairlead' }])
    .describe(
      'StorageClasses: `name`, `pool` (optional if there is only one), `fsType`, `default`, and the fields of Kubernetes',
    ),
  volumeSnapshotClasses: z
    .array(
      z.strictObject({
        ...metadata,
        default: z.boolean().optional(),
        deletionPolicy: z.enum(['Delete', 'Retain']).optional(),
        parameters: texts.optional(),
      }),
    )
    .default([{ name: 'fairlead' }])
    .describe('VolumeSnapshotClasses, if the cluster has the CRDs'),
  volumeGroupSnapshotClasses: z
    .array(
      z.strictObject({
        ...metadata,
        default: z.boolean().optional(),
        deletionPolicy: z.enum(['Delete', 'Retain']).optional(),
        parameters: texts.optional(),
      }),
    )
    .default([{ name: 'fairlead' }])
    .describe(
      'VolumeGroupSnapshotClasses, if the cluster has the CRDs and `driver.capabilities` has `group-snapshots`',
    ),
  volumeAttributesClasses: z
    .array(z.strictObject({ ...metadata, parameters: texts }))
    .default([])
    .describe('VolumeAttributesClasses with mutable parameters of a pool'),
};
