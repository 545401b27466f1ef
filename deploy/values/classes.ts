import { z } from 'zod';
import { texts } from './pod.ts';

const metadata = {
  name: z.string().min(1),
  labels: texts.optional(),
  annotations: texts.optional(),
};

/** The classes that the chart makes, each as Kubernetes has it but for `pool`, `fsType` and `default`. */
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
      'StorageClasses: `name`, `pool` (needless where there is one), `fsType`, `default`, and what Kubernetes has',
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
    .describe('VolumeSnapshotClasses, where the cluster has the CRDs'),
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
    .describe('VolumeGroupSnapshotClasses, where the cluster has the CRDs and the driver `group-snapshots`'),
  volumeAttributesClasses: z
    .array(z.strictObject({ ...metadata, parameters: texts }))
    .default([])
    .describe('VolumeAttributesClasses (Kubernetes 1.31 or later), with mutable parameters of a pool'),
};
