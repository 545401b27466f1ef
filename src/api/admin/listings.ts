import { z } from 'zod';
import { protocols } from '../attachment.ts';
import { attachmentState, nodeId, nodeSpecSchema } from '../node.ts';
import { snapshotSchema } from '../snapshot.ts';
import { capabilitySchema, poolName, segmentsSchema, sizeBytes, text, time, volumeId } from '../storage.ts';
import { volumeSchema } from '../volume.ts';

const cluster = text('east');
const count = z.int().nonnegative();
const reservedBytes = sizeBytes.describe('What it takes of its pool.');

/** One page of entries with ids of their own, in the order of these; no `nextPageToken` means that it is the last. */
const pageOf = <Name extends string, Entry extends z.ZodType>(name: Name, entry: Entry) => {
  const shape = { [name]: z.array(entry) } as { readonly [N in Name]: z.ZodArray<Entry> };
  const id = `All${name[0]?.toUpperCase()}${name.slice(1)}Page`;
  const description = `One page of ${name} of all clusters, by id; without \`nextPageToken\` the last.`;
  return z.object({ ...shape, nextPageToken: z.string().optional() }).meta({ id, description });
};

/** A volume of any cluster, as operators see it. */
export const anyVolumeSchema = volumeSchema
  .extend({
    cluster,
    pool: poolName,
    state: z
      .enum(['creating', 'ready', 'deleting', 'deleted'])
      .meta({ examples: ['ready'] })
      .describe('`deleted`: it can be restored.'),
    reservedBytes,
    attachments: z.array(z.object({ cluster, nodeId, state: attachmentState, readonly: z.boolean() })),
    capabilities: z.array(capabilitySchema).describe('How it was to be used, when it was created.'),
    storageId: text('west.pvc-1').optional().describe('What the storage calls it, where that is not its id.'),
    restorableUntil: time.optional().describe('When a deleted volume is deleted for good.'),
  })
  .meta({ id: 'AnyVolume', description: 'A volume of any cluster, as operators see it.' });

/** One page of the volumes of all clusters. */
export const anyVolumePageSchema = pageOf('volumes', anyVolumeSchema);

/** A snapshot of any cluster, as operators see it. */
export const anySnapshotSchema = snapshotSchema
  .extend({ cluster, pool: poolName, reservedBytes })
  .meta({ id: 'AnySnapshot', description: 'A snapshot of any cluster, as operators see it.' });

/** One page of the snapshots of all clusters. */
export const anySnapshotPageSchema = pageOf('snapshots', anySnapshotSchema);

/** A volume on a node, without how the node reaches it. */
export const anyAttachmentSchema = z
  .object({
    id: text('east.pvc-1/east/node-1').describe("The volume's id, the cluster, and the node's id."),
    volumeId,
    cluster: cluster.describe("The node's cluster."),
    nodeId,
    state: attachmentState,
    readonly: z.boolean(),
    capability: capabilitySchema,
    protocol: z.enum(protocols).optional().describe('By which it is reached, once it was attached.'),
    sizeBytes: sizeBytes.optional().describe("The volume's size when it was attached."),
  })
  .meta({ id: 'AnyAttachment', description: 'A volume on a node, without how the node reaches it.' });

/** One page of the attachments of all clusters. */
export const anyAttachmentPageSchema = pageOf('attachments', anyAttachmentSchema);

/** A node of any cluster. */
export const anyNodeSchema = nodeSpecSchema
  .extend({
    id: text('east/node-1').describe("The cluster, and the node's id."),
    cluster,
    nodeId,
    volumes: count.describe('How many are attached, being attached or being detached.'),
  })
  .loose()
  .meta({ id: 'AnyNode', description: 'A node of any cluster, as that has reported it.' });

/** One page of the nodes of all clusters. */
export const anyNodePageSchema = pageOf('nodes', anyNodeSchema);

/** A pool as it is now. */
export const poolSchema = z
  .object({
    id: poolName,
    backend: text('image').optional().describe('Absent while it waits.'),
    state: z
      .enum(['open', 'waiting', 'removed'])
      .describe(
        '`waiting`: its storage was not reached yet, and nothing can be done in it; `removed`: open until the next start, and offered no more.',
      ),
    waitingFor: z.string().optional().describe('Why it waits.'),
    features: z.array(text('expand')),
    topologies: z.array(segmentsSchema).optional(),
    totalBytes: sizeBytes.optional().describe('What the storage has; absent where it does not say.'),
    reservedBytes: sizeBytes.describe('What is reserved by all clusters.'),
    volumes: count,
    snapshots: count,
    fault: z.string().optional().describe('What is wrong with it, such as a storage that does not answer.'),
  })
  .meta({ id: 'Pool', description: 'A pool as it is now.' });

/** One page of the pools. */
export const poolPageSchema = pageOf('pools', poolSchema);

/** A cluster, and what it has. */
export const clusterStateSchema = z
  .object({
    id: cluster,
    isEnrolled: z
      .boolean()
      .describe('False: the configuration does not name it, and it has something still.'),
    pools: z.array(poolName).optional().describe('Those that it may use; absent: all.'),
    volumes: count,
    snapshots: count,
    nodes: count.describe('How many it has reported.'),
    attachments: count,
    use: z
      .array(z.object({ pool: poolName, reservedBytes: sizeBytes, volumes: count, snapshots: count }))
      .describe('What it has in each pool, what can be restored included.'),
    quotas: z
      .array(z.object({ path: text('pools.fast.bytes'), limit: count, used: count }))
      .describe('What it may have at most, and how much of that it has.'),
  })
  .meta({ id: 'ClusterState', description: 'A cluster, and what it has.' });

/** One page of the clusters. */
export const clusterPageSchema = pageOf('clusters', clusterStateSchema);

/** What a gateway works on now. */
export const runningOperationSchema = z
  .object({
    id: text('volume/east.pvc-1'),
    kind: z.enum(['volume', 'snapshot', 'group']),
    resourceId: text('east.pvc-1'),
    operation: text('attach'),
    since: time,
    until: time.describe('No other gateway works on it before; who holds it puts that off.'),
    holder: text('0b7e8a1c').describe('The process that holds it.'),
  })
  .meta({ id: 'RunningOperation', description: 'What a gateway works on now, and holds for itself.' });

/** One page of what gateways work on. */
export const operationPageSchema = pageOf('operations', runningOperationSchema);

/** What a cluster has at a pool now. */
export const queueSchema = z
  .object({
    id: text('fast/east').describe('The pool, and the cluster.'),
    pool: poolName,
    cluster,
    waiting: count.describe('How many operations wait for their turn.'),
    running: count,
    limit: count.describe('How many may run at the pool, of all clusters together.'),
    oldestWaitMs: count.describe('How long the first of those that wait has waited, in milliseconds.'),
  })
  .meta({ id: 'Queue', description: 'What a cluster has at a pool now.' });

/** One page of the queues. */
export const queuePageSchema = pageOf('queues', queueSchema);

export type AnyVolume = z.infer<typeof anyVolumeSchema>;
export type AnySnapshot = z.infer<typeof anySnapshotSchema>;
export type AnyAttachment = z.infer<typeof anyAttachmentSchema>;
export type AnyNode = z.infer<typeof anyNodeSchema>;
export type PoolState = z.infer<typeof poolSchema>;
export type ClusterState = z.infer<typeof clusterStateSchema>;
export type RunningOperation = z.infer<typeof runningOperationSchema>;
export type Queue = z.infer<typeof queueSchema>;
