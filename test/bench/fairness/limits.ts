import { openSqlite } from '../../../gateway/stores/sqlite.ts';
import type { Sql } from '../../../gateway/store.ts';
import { addAttachment, attachmentTable } from '../../../gateway/tables/attachments.ts';
import { countAtNode } from '../../../gateway/tables/counts.ts';
import { groupTable } from '../../../gateway/tables/groups.ts';
import { nodeTable } from '../../../gateway/tables/nodes.ts';
import { moveReservation } from '../../../gateway/tables/reservations.ts';
import { migrate } from '../../../gateway/tables/schema.ts';
import { snapshotTable } from '../../../gateway/tables/snapshots.ts';
import { addGrant } from '../../../gateway/tables/grants.ts';
import { volumeTable } from '../../../gateway/tables/volumes.ts';
import { newSnapshotRecord } from '../../../gateway/snapshots/record.ts';
import { emptyVolumeRecord } from '../../../gateway/volumes/record.ts';
import { limits } from '../../../src/api/limits.ts';
import type { Capability } from '../../../src/api/storage.ts';
import type { VolumeSpec } from '../../../src/api/volume.ts';
import { volumeSpec } from '../../harness/gateway.ts';
import type { Noise } from './noise.ts';

/** The cluster with the maximum of everything except attachments, and the cluster with the maximum of attachments. */
const noisy = 'noisy';
const crowded = 'crowded';
const pool = 'main';
const volumes = 1_000;
const topology = { 'csi.fairlead.dev/zone': 'z'.repeat(63), 'kubernetes.io/hostname': 'h'.repeat(63) };

const readers = (flagBytes: number): Capability => ({
  accessType: 'mount',
  accessMode: 'MULTI_NODE_READER_ONLY',
  mountFlags: ['f'.repeat(flagBytes)],
});
/** A record just within its limit, with as much as possible in fields that lists show. */
const largest = {
  capabilities: [readers(limits.mountFlagBytes.max), readers(2_000)],
  parameters: { key: 'v'.repeat(4_000) },
  mutableParameters: { key: 'v'.repeat(2_000) },
};

/**
 * Fills a new store: the cluster `noisy` has 1000 of the largest volumes with all grants, and the maximum of everything
 * else; the cluster `crowded` has the maximum of attachments, each volume at the maximum of nodes.
 */
export async function fillStore(path: string): Promise<void> {
  const engine = openSqlite(path);
  await migrate(engine);
  await engine.transaction(async sql => {
    for (let index = 0; index < volumes; index++) await addVolume(sql, `${noisy}.${index}`);
    for (let index = 0; index < limits.nodesPerCluster.max; index++) {
      const node = { cluster: noisy, nodeId: `node-${index}` };
      await nodeTable.add(sql, { ...node, spec: { maxVolumes: 100, topology }, goneMs: undefined });
      await countAtNode(sql, 'nodes', { ...node, change: 1 });
    }
    await addSnapshots(sql, `${noisy}.0`);
    await addGroup(sql);
    for (let index = 0; index < limits.attachmentsPerVolume.max; index++)
      await addAttachment(sql, {
        volumeId: `${noisy}.1`,
        cluster: noisy,
        nodeId: `node-${index}`,
        attachmentId: crypto.randomUUID(),
        state: 'attached',
        capability: readers(2_000),
        readonly: true,
        reach: { protocol: 'loop', path: '/srv/pool/noisy.1.img' },
        sizeBytes: 1,
      });
    await addCrowded(sql);
  });
  await engine.close();
}

/** Adds volumes with the maximum of nodes each; the gateway counts the attachments at its start. */
async function addCrowded(sql: Sql): Promise<void> {
  const nodes = limits.attachmentsPerVolume.max;
  const count = Math.ceil(limits.attachmentsPerCluster.max / nodes);
  const capability: Capability = { accessType: 'block', accessMode: 'MULTI_NODE_READER_ONLY' };
  const spec = { capabilities: [capability] };
  for (let index = 0; index <= count; index++) {
    // The last volume is not attached.
    const id = `${crowded}.${index === count ? 'more' : 1_000 + index}`;
    const known = { id, cluster: crowded, name: id, pool, source: undefined, spec };
    const made = { state: 'ready', sizeBytes: 1, reservedBytes: 1 } as const;
    const volume = { ...emptyVolumeRecord(known), ...made };
    await volumeTable.add(sql, volume);
    await moveReservation(sql, undefined, volume);
  }
  await nodeTable.add(sql, { cluster: crowded, nodeId: 'more', spec: {}, goneMs: undefined });
  const first = { volumeId: `${crowded}.more`, cluster: crowded, nodeId: 'first' };
  const attached = { attachmentId: 'x', state: 'attached', capability, readonly: true } as const;
  const reach = { protocol: 'loop', path: '/srv/pool/crowded.img' } as const;
  await attachmentTable.add(sql, { ...first, ...attached, reach, sizeBytes: 1 });
  const { columns } = attachmentTable;
  const changed: Readonly<Record<string, string>> = {
    volume_id: `'${crowded}.' || (1000 + i / ${nodes})`,
    node_id: `'node-' || (i % ${nodes})`,
  };
  await sql.run(
    `insert into attachments (${columns.join(', ')})
     with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < ?)
     select ${columns.map(name => changed[name] ?? name).join(', ')} from n, attachments
     where volume_id = ? and cluster = ? and node_id = ?`,
    count * nodes,
    first.volumeId,
    first.cluster,
    first.nodeId,
  );
  await attachmentTable.remove(sql, first);
}

async function addVolume(sql: Sql, id: string): Promise<void> {
  const { mutableParameters } = largest;
  const known = { id, cluster: noisy, name: id, pool, source: undefined, spec: largest };
  const made = { state: 'ready', sizeBytes: 1, reservedBytes: 1, mutableParameters, shared: true } as const;
  const volume = { ...emptyVolumeRecord(known), ...made, context: largest.parameters };
  await volumeTable.add(sql, volume);
  await moveReservation(sql, undefined, volume);
  for (let index = 0; index < limits.grantsPerVolume.max; index++) {
    const grant = { volumeId: id, cluster: `c${index}`, access: 'read-only' } as const;
    await addGrant(sql, { ...grant, revoking: false, byOperator: false }, pool);
  }
}

async function addSnapshots(sql: Sql, volumeId: string): Promise<void> {
  for (let index = 0; index < limits.snapshotsPerVolume.max; index++)
    await addSnapshot(sql, { id: `${noisy}.snap-${index}`, volumeId });
}

async function addGroup(sql: Sql): Promise<void> {
  const id = `${noisy}.group`;
  const group = {
    id,
    cluster: noisy,
    name: 'group',
    pool,
    state: 'ready',
    parameters: {},
    createdAtMs: 1,
  } as const;
  await groupTable.add(sql, group);
  for (let member = 0; member < limits.groupMembers.max; member++)
    await addSnapshot(sql, {
      id: `${noisy}.member-${member}`,
      volumeId: `${noisy}.${member}`,
      groupId: id,
      member,
    });
}

async function addSnapshot(
  sql: Sql,
  { id, volumeId, ...of }: { id: string; volumeId: string; groupId?: string; member?: number },
): Promise<void> {
  const asked = { id, cluster: noisy, name: id, volumeId, parameters: largest.parameters };
  const from = { pool, segments: topology, sizeBytes: 1 };
  const snapshot = { ...newSnapshotRecord(asked, from, of), state: 'ready' } as const;
  await snapshotTable.add(sql, snapshot);
  await moveReservation(sql, undefined, snapshot);
}

/** The tokens of `noisy`, of `crowded`, and of a cluster that may have no volume. */
type Tokens = { readonly token: string; readonly crowdedToken: string; readonly fullToken: string };

/** Makes the requests at each limit and beyond it. */
export function noisesAtLimits(
  url: string,
  { token, crowdedToken, fullToken }: Tokens,
): Readonly<Record<string, Noise>> {
  const get = (path: string): Noise => ({ url: `${url}/${path}`, method: 'GET', token, status: 200 });
  const put = (status: number, path: string, body: unknown): Noise => ({
    ...get(path),
    method: 'PUT',
    body: JSON.stringify(body),
    status,
  });
  const reading = {
    capability: { accessType: 'block', accessMode: 'MULTI_NODE_READER_ONLY' },
    readonly: true,
  };
  const tooLarge: Partial<VolumeSpec> = {
    capabilities: Array.from({ length: limits.capabilities.max }, () => readers(limits.mountFlagBytes.max)),
  };
  return {
    'GETs of the largest record': get(`volumes/${noisy}.0`),
    'GETs of a volume at 1024 nodes': get(`volumes/${noisy}.1`),
    'lists of the largest volumes with 64 grants': get('volumes'),
    'lists of volumes at 1024 nodes': { ...get('volumes'), token: crowdedToken },
    'lists of the 1024 snapshots of a volume': get(`snapshots?volumeId=${noisy}.0`),
    'GETs of a group of 64': get(`groups/${noisy}.group`),
    'lists of 10000 nodes': get('nodes'),
    'grants beyond the limit': put(507, `volumes/${noisy}.0/grants/quiet`, { access: 'read-only' }),
    'snapshots beyond the limit': put(507, `snapshots/${noisy}.more-#`, {
      name: 'more-#',
      volumeId: `${noisy}.0`,
    }),
    'nodes beyond the limit': put(507, 'nodes/more-#', {}),
    'attaches beyond the limit of a volume': put(409, `volumes/${noisy}.1/attachments/node-2000`, reading),
    'attaches beyond the limit of a cluster': {
      ...put(409, `volumes/${crowded}.more/attachments/more`, reading),
      token: crowdedToken,
    },
    'records beyond the limit': put(400, `volumes/${noisy}.large`, volumeSpec('large', tooLarge)),
    'creates beyond the quota, all in the log': {
      ...put(507, 'volumes/full.n#', volumeSpec('n#')),
      token: fullToken,
    },
  };
}
