import type { Sql } from '../../../gateway/store.ts';
import { openSqlite } from '../../../gateway/stores/sqlite.ts';
import { newSnapshotRecord } from '../../../gateway/snapshots/record.ts';
import { noTurn } from '../../../gateway/attachments/trim-turns.ts';
import { addAttachment } from '../../../gateway/tables/attachments.ts';
import { addGrant } from '../../../gateway/tables/grants.ts';
import { groupTable } from '../../../gateway/tables/groups.ts';
import { nodeTable } from '../../../gateway/tables/nodes.ts';
import { migrate } from '../../../gateway/tables/schema.ts';
import { snapshotTable } from '../../../gateway/tables/snapshots.ts';
import { volumeTable, type RecordedSpec } from '../../../gateway/tables/volumes.ts';
import { emptyVolumeRecord } from '../../../gateway/volumes/record.ts';
import { limits } from '../../../src/api/limits.ts';
import type { Capability } from '../../../src/api/storage.ts';
import { copyRow } from '../../harness/scale/full-store.ts';

const pool = 'main';
const topology = { 'csi.fairlead.dev/zone': 'z'.repeat(63), 'kubernetes.io/hostname': 'h'.repeat(63) };

/** A capability of readers with a mount flag of this length. */
export const readers = (flagBytes: number): Capability => ({
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
const reading: Capability = { accessType: 'block', accessMode: 'MULTI_NODE_READER_ONLY' };
const small = { capabilities: [reading], parameters: {}, mutableParameters: {} };

const nodesPerVolume = limits.attachmentsPerVolume.max;
const crowdedVolumes = Math.ceil(limits.attachmentsPerCluster.max / nodesPerVolume);

/** The path of an attachment beyond the limit of the cluster `crowded`. */
export const crowdedPath = `volumes/crowded.${crowdedVolumes}/attachments/row`;

const [noisy, crowded] = [`cluster = 'noisy'`, `cluster = 'crowded'`];
const node_id = `'node-' || (i % ${nodesPerVolume})`;
const grants = limits.grantsPerVolume.max;
const member = {
  id: `'noisy.member-' || i`,
  volume_id: `'noisy.' || i`,
  group_id: `'noisy.group'`,
  member: 'i',
};

/** The tables with the row that is copied, the number of copies, and the changed columns. */
const copies = [
  [
    'grants',
    'true',
    1_000 * grants,
    { volume_id: `'noisy.' || (i / ${grants})`, cluster: `'c' || (i % ${grants})` },
  ],
  ['nodes', noisy, limits.nodesPerCluster.max, { node_id: `'node-' || i` }],
  ['attachments', noisy, nodesPerVolume, { node_id, volume_id: `'noisy.1'` }],
  [
    'attachments',
    crowded,
    limits.attachmentsPerCluster.max,
    { node_id, volume_id: `'crowded.' || (i / ${nodesPerVolume})` },
  ],
  ['snapshots', `id = 'noisy.cut'`, limits.snapshotsPerVolume.max, { id: `'noisy.snap-' || i` }],
  ['snapshots', `id = 'noisy.cut'`, limits.groupMembers.max, member],
] as const;

/**
 * Fills a new store, which the gateway counts at its start: the cluster `noisy` has 1000 of the largest volumes with all
 * grants, and the maximum of everything else; the cluster `crowded` has the maximum of attachments, each volume at the
 * maximum of nodes. Almost all rows are copies of the first row of their cluster.
 */
export async function fillStore(path: string): Promise<void> {
  const engine = openSqlite(path);
  await migrate(engine);
  await engine.transaction(async sql => {
    await addCluster(sql, 'noisy', { spec: largest, count: 1_000 });
    await addCluster(sql, 'crowded', { spec: small, count: crowdedVolumes + 1 });
    const grant = { volumeId: 'noisy.row', cluster: 'c', access: 'read-only' } as const;
    await addGrant(sql, { ...grant, revoking: false, byOperator: false }, pool);
    const group = { id: 'noisy.group', cluster: 'noisy', name: 'group', pool, state: 'ready' } as const;
    await groupTable.add(sql, { ...group, parameters: {}, createdAtMs: 1 });
    const cut = { id: 'noisy.cut', cluster: 'noisy', name: 'cut', volumeId: 'noisy.0' };
    const record = { ...cut, parameters: largest.parameters };
    const snapshot = newSnapshotRecord(record, { pool, segments: topology, sizeBytes: 1 });
    await snapshotTable.add(sql, { ...snapshot, state: 'ready' });
    for (const [of, where, count, changed] of copies) await copyRow(sql, { of, where, count }, changed);
  });
  await engine.close();
}

type Volumes = { readonly spec: RecordedSpec; readonly count: number };

/** Adds the rows that are copied, and the volumes. */
async function addCluster(sql: Sql, cluster: string, { spec, count }: Volumes): Promise<void> {
  const volumeId = `${cluster}.row`;
  const known = { id: volumeId, cluster, name: 'row', pool, source: undefined, spec };
  const { parameters: context = {}, capabilities } = spec;
  const made = { state: 'ready', sizeBytes: 1, reservedBytes: 1, context, shared: true } as const;
  await volumeTable.add(sql, { ...emptyVolumeRecord(known), ...made });
  await copyRow(
    sql,
    { of: 'volumes', where: `id = '${volumeId}'`, count },
    { id: `'${cluster}.' || i`, name: `'n' || i` },
  );
  const node = { cluster, nodeId: 'row' };
  await nodeTable.add(sql, { ...node, spec: { maxVolumes: 100, topology }, goneMs: undefined });
  const attached = { attachmentId: 'x', state: 'attached', readonly: true, sizeBytes: 1 } as const;
  const reach = { protocol: 'loop', path: '/srv/pool/row.img' } as const;
  await addAttachment(sql, {
    ...node,
    ...attached,
    ...noTurn,
    volumeId,
    reach,
    capability: capabilities.at(-1) ?? reading,
  });
}
