import * as z from 'zod';
import { outages, problemTable, type ProblemCode } from '../problem.ts';
import { attachmentState, nodeId, nodeSpecSchema } from '../node.ts';
import { snapshotSchema } from '../snapshot.ts';
import {
  capabilitySchema,
  pageSchemaOf,
  poolName,
  queryText,
  segmentsSchema,
  sizeBytes,
  text,
  time,
  volumeId,
} from '../storage.ts';
import { copier, volumeSchema } from '../volume.ts';
import { refusedTokens } from './status.ts';

const cluster = text('east');
const count = z.int().nonnegative();
const reservedBytes = sizeBytes.describe('The bytes that it reserves in its pool.');

/** The soft-deleted part of a usage. Absent: an older gateway. */
const ofDeleted = {
  deletedBytes: sizeBytes
    .optional()
    .describe('The part of `reservedBytes` that soft-deleted volumes leave if room is needed.'),
  deletedVolumes: count.optional().describe('The soft-deleted part of `volumes`.'),
};

const copyGrants = z.array(copier).optional().describe('The other clusters that may copy it.');

/** Makes the schema of a page of entries, ordered by id. The last page has no `nextPageToken`. */
const pageOf = <Name extends string, Entry extends z.ZodType>(name: Name, entry: Entry) => {
  const id = `All${name[0]?.toUpperCase()}${name.slice(1)}Page`;
  const description = `One page of ${name} of all clusters, by id. The last page has no \`nextPageToken\`.`;
  return pageSchemaOf(name, entry, { id, description });
};

const volumeState = z.enum(['creating', 'ready', 'deleting', 'deleted']).meta({ examples: ['ready'] });

/** The states of volumes for operators, in the order of a volume's life. */
export const volumeStates = volumeState.options;

/** The orders of the list of volumes, as the command line names them: by a column, with a dash for the opposite. */
const volumeOrder = z.enum(['age', '-age', 'size', '-size']).meta({ examples: ['-size'] });

export const volumeOrders = volumeOrder.options;

export type VolumeOrder = z.output<typeof volumeOrder>;

/** The filters and the order of the list of volumes that other lists do not have. */
export const allVolumesQuery = {
  copyOf: queryText('Only the copies of this volume and of its snapshots.', 'east.pvc-1'),
  pool: queryText('Only the volumes of this pool.', 'fast'),
  state: volumeState.optional().describe('Only the volumes in this state.'),
  orderBy: volumeOrder
    .optional()
    .describe('All volumes, the youngest (`age`), oldest, smallest or largest first; not with a filter.'),
};

/** A volume of any cluster, as operators see it. */
export const adminVolumeSchema = volumeSchema
  .extend({
    cluster,
    pool: poolName,
    state: volumeState.describe('`deleted`: the volume can be restored.'),
    reservedBytes,
    attachments: z.array(z.object({ cluster, nodeId, state: attachmentState, readonly: z.boolean() })),
    capabilities: z.array(capabilitySchema).describe('The capabilities in the request that created it.'),
    storageId: text('west.pvc-1').optional().describe("The storage's name for it, if that is not its id."),
    copyGrants,
    restorableUntil: time.optional().describe("The time of a deleted volume's final deletion."),
  })
  .meta({ id: 'AdminVolume', description: 'A volume of any cluster, as operators see it.' });

export const allVolumesPageSchema = pageOf('volumes', adminVolumeSchema);

/** A snapshot of any cluster, as operators see it. */
export const adminSnapshotSchema = snapshotSchema
  .extend({ cluster, pool: poolName, reservedBytes, copyGrants })
  .meta({ id: 'AdminSnapshot', description: 'A snapshot of any cluster, as operators see it.' });

export const allSnapshotsPageSchema = pageOf('snapshots', adminSnapshotSchema);

/** A volume on a node, without the node's access data. */
export const adminAttachmentSchema = z
  .object({
    id: text('east.pvc-1/east/node-1').describe("The volume's id, the cluster, and the node's id."),
    volumeId,
    cluster: cluster.describe("The node's cluster."),
    nodeId,
    state: attachmentState,
    readonly: z.boolean(),
    capability: capabilitySchema,
    protocol: text('nvme-tcp').optional().describe('The attach protocol, once the volume is attached.'),
    sizeBytes: sizeBytes.optional().describe("The volume's size when it was attached."),
  })
  .meta({ id: 'AdminAttachment', description: "A volume on a node, without the node's access data." });

export const allAttachmentsPageSchema = pageOf('attachments', adminAttachmentSchema);

export const adminNodeSchema = nodeSpecSchema
  .extend({
    id: text('east/node-1').describe("The cluster, and the node's id."),
    cluster,
    nodeId,
    volumes: count.describe('The number of volumes attached, being attached or being detached.'),
    missingSince: time
      .optional()
      .describe('The time since which its cluster no longer has it, although volumes are attached to it.'),
  })
  .loose()
  .meta({ id: 'AdminNode', description: 'A node of any cluster, as its cluster reported it.' });

export const allNodesPageSchema = pageOf('nodes', adminNodeSchema);

/** A failed call of a pool's storage. */
export const failureSchema = z
  .object({
    at: time,
    method: text('create').describe("The backend's method, or `open`."),
    code: z.enum(Object.keys(problemTable) as [ProblemCode]),
    detail: text('the storage does not answer').describe('The reason, for people.'),
    requestId: z
      .string()
      .optional()
      .describe("The request that made the call; absent for the gateway's own work."),
  })
  .meta({ id: 'PoolFailure', description: "A failed call of a pool's storage." });

export const poolSchema = z
  .object({
    id: poolName,
    backend: text('image').optional().describe('Absent: an older gateway, while the pool is `waiting`.'),
    address: text('https://storage.example')
      .optional()
      .describe(
        'The address of its storage, from its settings: a URL, a directory, or a pool or filesystem and the configuration file of its Ceph cluster.',
      ),
    state: z
      .enum(['open', 'waiting', 'removed'])
      .describe(
        '`waiting`: it has not been opened yet, so the pool cannot be used; `removed`: open until the next start, but no longer offered.',
      ),
    drainedSince: time
      .optional()
      .describe('An operator drains the pool: it takes no new volumes since then.'),
    waitingFor: z.string().optional().describe('The reason why the pool is `waiting`.'),
    machineLacks: z
      .array(text('the kernel lacks one of the modules nvmet, nvmet_tcp; install them'))
      .optional()
      .describe(
        'What the machine of the answering gateway lacks for the pool, one line each, as `fairlead gateway --check` reports it: tools, kernel modules, files, and features such as shared blocks. Absent: its backend needs nothing of the machine.',
      ),
    seenBy: text('fairlead-gateway-0')
      .optional()
      .describe(
        'The host of the answering gateway. Another replica may see another state, other faults and other calls of the storage.',
      ),
    checkedAt: time
      .optional()
      .describe(
        'The start of the last check that compared all of its volumes with the store; absent: there was none.',
      ),
    features: z.array(text('expand')),
    topologies: z.array(segmentsSchema).optional(),
    cannotCutOff: z
      .literal(true)
      .optional()
      .describe('True: a detach does not stop a node that still uses the volume.'),
    totalBytes: sizeBytes.optional().describe('The capacity of the storage, if the storage reports it.'),
    reservedBytes: sizeBytes.describe('The bytes that all clusters together reserve.'),
    volumes: count,
    snapshots: count,
    ...ofDeleted,
    fault: z.string().optional().describe('A fault of the pool, such as a storage that does not answer.'),
    answers: z
      .boolean()
      .optional()
      .describe('False: its storage failed just now, or in the last call of this gateway.'),
    outage: z
      .enum(outages)
      .optional()
      .describe(
        'How its storage fails. `silent`: it does not answer; `errors`: it answers with errors; `foreign`: something else answers, such as a proxy. Absent: it answers, or the failure is of the gateway itself, such as in its settings, a token, a file or a command.',
      ),
    failingSince: time
      .optional()
      .describe(
        'The start of the first failed call since its storage last answered; for a `waiting` pool the first try to open it.',
      ),
    isPaused: z
      .boolean()
      .optional()
      .describe(
        'True: the gateway sends nothing for a moment, because the storage failed several times in a row.',
      ),
    lastFailure: failureSchema.optional(),
    recentFailures: z
      .array(failureSchema)
      .optional()
      .describe('The last failed calls of this gateway that work on a volume or snapshot, the newest first.'),
    recentCalls: z
      .object({ total: count, failed: count })
      .optional()
      .describe(
        'The calls of this gateway that ended in the last 5 minutes, without questions about size and health.',
      ),
    oldestCall: z
      .object({ method: text('create'), since: time })
      .optional()
      .describe('The call of this gateway that has been running for the longest time.'),
  })
  .meta({ id: 'Pool', description: 'A pool as it is now.' });

export const poolPageSchema = pageOf('pools', poolSchema);

export const clusterStateSchema = z
  .object({
    id: cluster,
    isEnrolled: z
      .boolean()
      .describe('False: the configuration does not name the cluster, but it still has resources.'),
    lastSeenAt: time
      .optional()
      .describe(
        "The time of its controller's last request to the answering gateway; absent: none since the start.",
      ),
    retiredSince: time
      .optional()
      .describe('An operator retired the cluster: its tokens are refused since then.'),
    isRetirementUnfinished: z
      .literal(true)
      .optional()
      .describe('True: steps of its retirement are left, because they failed or have not ended.'),
    refusedTokens: refusedTokens
      .optional()
      .describe(
        'The tokens with its name, without proof, that the answering gateway has refused in the last 5 minutes.',
      ),
    keyFaults: z
      .array(text('east.jwks.json: is not JSON'))
      .optional()
      .describe(
        'The faults of its key files and issuers. They are the reason why its tokens are refused; absent for a retired cluster.',
      ),
    pools: z.array(poolName).optional().describe('The pools that it may use; absent: all.'),
    detachesDeadNodes: z
      .literal(true)
      .optional()
      .describe('True: its controller may detach all volumes from a dead node.'),
    volumes: count,
    snapshots: count,
    nodes: count.describe('The number of nodes that it has reported.'),
    attachments: count,
    use: z
      .array(
        z.object({
          pool: poolName,
          reservedBytes: sizeBytes,
          volumes: count,
          snapshots: count,
          ...ofDeleted,
        }),
      )
      .describe('Its resources in each pool, including deleted volumes that can be restored.'),
    quotas: z
      .array(
        z.object({
          path: text('pools.fast.bytes'),
          limit: count,
          used: count,
          deleted: count.optional().describe('The usage by soft-deleted volumes, not part of `used`.'),
        }),
      )
      .describe('Its quotas, and how much of each is used.'),
  })
  .meta({ id: 'ClusterState', description: 'A cluster with its resources.' });

export const clusterPageSchema = pageOf('clusters', clusterStateSchema);

export const runningOperationSchema = z
  .object({
    id: text('volume/east.pvc-1'),
    kind: z.enum(['volume', 'snapshot', 'group']),
    resourceId: text('east.pvc-1'),
    operation: text('attach'),
    since: time,
    until: time.describe('Other gateways leave it alone until then; its holder extends that time.'),
    holder: text('0b7e8a1c').describe('The gateway process that runs it.'),
  })
  .meta({ id: 'RunningOperation', description: 'An operation that a gateway is running.' });

export const operationPageSchema = pageOf('operations', runningOperationSchema);

export const queueSchema = z
  .object({
    id: text('fast/east').describe('The pool, and the cluster.'),
    pool: poolName,
    cluster,
    waiting: count.describe('The number of operations that wait for a slot.'),
    running: count,
    limit: count.describe('The number of slots of the pool, for all clusters together.'),
    oldestWaitMs: count.describe('The time that the oldest waiting operation has waited, in milliseconds.'),
    waitingOperations: z
      .array(
        z.object({
          operation: text('create'),
          resource: text('volume/east.pvc-1'),
          waitMs: count.describe('The time that it has waited, in milliseconds.'),
        }),
      )
      .optional()
      .describe('The waiting operations, the oldest first. Nothing else is recorded of them yet.'),
  })
  .meta({ id: 'Queue', description: 'The running and waiting operations of a cluster at a pool.' });

export const queuePageSchema = pageOf('queues', queueSchema);

export type AdminVolume = z.infer<typeof adminVolumeSchema>;
export type AdminSnapshot = z.infer<typeof adminSnapshotSchema>;
export type AdminAttachment = z.infer<typeof adminAttachmentSchema>;
export type AdminNode = z.infer<typeof adminNodeSchema>;
export type PoolState = z.infer<typeof poolSchema>;
export type ClusterState = z.infer<typeof clusterStateSchema>;
export type RunningOperation = z.infer<typeof runningOperationSchema>;
export type Queue = z.infer<typeof queueSchema>;
