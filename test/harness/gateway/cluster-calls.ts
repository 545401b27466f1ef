import type { NewVolume } from '../../../gateway/backend.ts';
import type { Caller } from '../../../gateway/callers/caller.ts';
import type { Cluster } from '../../../gateway/callers/cluster.ts';
import type { Gateway as ProductionGateway } from '../../../gateway/gateway.ts';
import type { AttachmentSpec } from '../../../src/api/node.ts';
import type { Capability } from '../../../src/api/storage.ts';
import type { VolumeSpec } from '../../../src/api/volume.ts';

/** The clusters a, b (which takes shares of a and detaches dead nodes), and any (which accepts any node). */
export const clusters = {
  a: { name: 'a', acceptAnyNode: false, pools: undefined },
  b: { name: 'b', acceptAnyNode: false, pools: undefined, sharesFrom: ['a'], deadNodes: { after: 60_000 } },
  any: { name: 'any', acceptAnyNode: true, pools: undefined },
} as const satisfies Record<string, Cluster>;

/** The callers of a gateway by the name that `ask` takes: the clusters, their readers, and an operator. */
export const callers: Readonly<Record<string, Caller>> = {
  a: { role: 'controller', cluster: clusters.a },
  b: { role: 'controller', cluster: clusters.b },
  any: { role: 'controller', cluster: clusters.any },
  'reader of a': { role: 'reader', cluster: clusters.a },
  'reader of b': { role: 'reader', cluster: clusters.b },
  'reader of operators': { role: 'reader' },
  operator: { role: 'operator' },
};

/** The usual capability of a volume. */
export const mounted: Capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' };

/** Makes a request for a new volume, with the test's own members. */
export function volumeSpec(name: string, spec: Partial<VolumeSpec> = {}): VolumeSpec {
  return { name, requiredBytes: 2 ** 20, capabilities: [mounted], ...spec };
}

/** Makes a backend's request for a volume. */
export function newVolume(id: string): NewVolume {
  return { id, nonce: id, requiredBytes: 2 ** 20, limitBytes: 0, parameters: {}, capabilities: [mounted] };
}

/** A gateway's calls for the cluster that an id begins with. */
export type ClusterCalls = {
  /** Creates a volume by default of 1 MiB for one writer. */
  create(id: string, spec?: Partial<VolumeSpec>): Created<'volumes'>;
  /** Takes a snapshot of a volume. */
  snapshot(id: string, volumeId: string): Created<'snapshots'>;
  /** Attaches a volume, by default to `n1` for one writer; its cluster need not report the node. */
  attach(volumeId: string, nodeId?: string, spec?: Partial<AttachmentSpec>): Attached;
  /** Detaches a volume, by default from `n1`. */
  detach(volumeId: string, nodeId?: string): Promise<void>;
};

type Created<Service extends 'volumes' | 'snapshots'> = ReturnType<ProductionGateway[Service]['create']>;
type Attached = ReturnType<ProductionGateway['attachments']['attach']>;

/** Splits an id into the cluster that it begins with, and the name. */
export function splitId(id: string): { readonly owner: string; readonly name: string } {
  const [, owner = '', name = ''] = /^([^.]*)\.(.*)$/.exec(id) ?? [];
  return { owner, name };
}

function split(id: string) {
  const { owner, name } = splitId(id);
  return { cluster: clusters[owner as keyof typeof clusters], name };
}

/** Names a volume at a node for its own cluster, which need not report the node. */
function keyOf(volumeId: string, nodeId: string) {
  return { cluster: { ...split(volumeId).cluster, acceptAnyNode: true }, volumeId, nodeId };
}

type Services = Pick<ProductionGateway, 'volumes' | 'snapshots' | 'attachments'>;

export function createClusterCalls({ volumes, snapshots, attachments }: Services): ClusterCalls {
  return {
    create(id, spec) {
      const { cluster, name } = split(id);
      return volumes.create(cluster, id, volumeSpec(name, spec));
    },
    snapshot(id, volumeId) {
      const { cluster, name } = split(id);
      return snapshots.create(cluster, id, { name, volumeId });
    },
    attach: (volumeId, nodeId = 'n1', spec = {}) =>
      attachments.attach(keyOf(volumeId, nodeId), { capability: mounted, readonly: false, ...spec }),
    detach: (volumeId, nodeId = 'n1') => attachments.detach(keyOf(volumeId, nodeId)),
  };
}
