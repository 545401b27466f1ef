import type { OperationId } from '../../../src/api/operations.ts';
import type { AskOptions } from '../gateway.ts';
import { mounted, volumeSpec } from '../gateway.ts';
import { beforeCrowded, templates } from './full-store.ts';

/** A request to a gateway, as arguments of `ask`. */
export type GatewayRequest = readonly [route: string, options?: AskOptions];

/** A request for an operation, and the requests before it; each round has ids of its own. */
type Visit = {
  readonly before?: (round: number) => readonly GatewayRequest[];
  readonly request: (round: number) => GatewayRequest;
};

const operator = { as: 'operator' } as const;
const several = { accessType: 'block', accessMode: 'MULTI_NODE_MULTI_WRITER' } as const;
const create = (id: string, spec: object = {}): GatewayRequest => [
  `PUT /v1/volumes/${id}`,
  { as: id.slice(0, id.indexOf('.')), body: { ...volumeSpec(id), ...spec } },
];
const snapshot = (id: string, volumeId: string): GatewayRequest => [
  `PUT /v1/snapshots/${id}`,
  { body: { name: id, volumeId } },
];
const attach = (volumeId: string, nodeId = 'own', capability: object = mounted): GatewayRequest => [
  `PUT /v1/volumes/${volumeId}/attachments/${nodeId}`,
  { body: { capability, readonly: false } },
];
const grant = (volumeId: string, access = 'read-write'): GatewayRequest => [
  `PUT /v1/volumes/${volumeId}/grants/b`,
  { body: { access } },
];

/** Makes the visits that grant or revoke copies of resources of this kind, such as `admin/snapshots`. */
function copyVisits(method: 'PUT' | 'DELETE', kind: string): readonly Visit[] {
  const options = kind.startsWith('admin/') ? operator : {};
  const [own = ''] = kind.split('/').slice(-1);
  const idOf = (round: number): string =>
    `a.copied-${method}-${kind.replace('/', '-')}${round}`.toLowerCase();
  const path = (round: number): string => `/v1/${kind}/${idOf(round)}/copy-grants/b`;
  const makes: Readonly<Record<string, (id: string) => readonly GatewayRequest[]>> = {
    volumes: id => [create(id)],
    snapshots: id => [create(id), snapshot(id, id)],
    groups: id => [create(id), [`PUT /v1/groups/${id}`, { body: { name: id, volumeIds: [id] } }]],
  };
  return [
    {
      before: round => [
        ...(makes[own]?.(idOf(round)) ?? []),
        ...(method === 'DELETE' ? [[`PUT ${path(round)}`, options] as const] : []),
      ],
      request: round => [`${method} ${path(round)}`, options],
    },
  ];
}

/** The requests that make the rows that a fill copies, and the rows that a walk needs. */
export const preparations: readonly GatewayRequest[] = [
  ['PUT /v1/nodes/own', { body: { maxVolumes: 100_000 } }],
  [`PUT /v1/nodes/${templates.node}`, { body: {} }],
  create(templates.volume, { capabilities: [several] }),
  create('b.own'),
  ...[templates.snapshot, 'a.cut0', 'a.cut1'].map(id => snapshot(id, templates.volume)),
  attach(templates.volume, templates.node, several),
  grant(templates.volume),
];

/** The visits of each operation: one, or one for each course that the operation can take. */
export const visits: Readonly<Record<OperationId, readonly Visit[]>> = {
  getCapabilities: [{ request: () => ['GET /v1/capabilities'] }],
  getCapacity: [{ request: () => ['POST /v1/capacity', { body: {} }] }],
  listVolumes: [
    { request: () => ['GET /v1/volumes'] },
    { request: () => ['GET /v1/volumes', { as: 'b' }] },
    { request: () => ['GET /v1/volumes?limit=100&pageToken=volumes/a:a.m1000500'] },
    { request: () => [`GET /v1/volumes?limit=100&pageToken=volumes/a:${beforeCrowded}`] },
  ],
  createVolume: [
    { request: round => create(`a.s${round}`) },
    { request: round => create(`b.s${round}`) },
    {
      request: round =>
        create(`a.clone${round}`, { source: { kind: 'snapshot', snapshotId: templates.snapshot } }),
    },
  ],
  getVolume: [
    { request: () => [`GET /v1/volumes/${templates.volume}`] },
    { request: () => ['GET /v1/volumes/b.own', { as: 'b' }] },
    { request: () => ['GET /v1/volumes/a.m1000005', { as: 'b' }] },
  ],
  deleteVolume: [
    {
      before: round => [create(`a.gone${round}`)],
      request: round => [`DELETE /v1/volumes/a.gone${round}`],
    },
  ],
  validateVolume: [
    {
      request: () => ['POST /v1/volumes/b.own/validate', { as: 'b', body: { capabilities: [mounted] } }],
    },
  ],
  expandVolume: [
    {
      before: round => [create(`a.grown${round}`)],
      request: round => [`PUT /v1/volumes/a.grown${round}/size`, { body: { requiredBytes: 2 ** 21 } }],
    },
  ],
  modifyVolume: [
    {
      before: round => [create(`a.modified${round}`)],
      request: round => [
        `PUT /v1/volumes/a.modified${round}/parameters`,
        { body: { mutableParameters: { tier: 'fast' } } },
      ],
    },
  ],
  getVolumeHealth: [{ request: () => ['GET /v1/volumes/b.own/health', { as: 'b' }] }],
  listVolumeHealth: [{ request: () => ['GET /v1/health/volumes'] }],
  grantVolume: [
    { before: round => [create(`a.shared${round}`)], request: round => grant(`a.shared${round}`) },
    {
      before: () => [grant('a.m1000005')],
      request: round => grant('a.m1000005', round % 2 === 0 ? 'read-only' : 'read-write'),
    },
  ],
  revokeGrant: [
    {
      before: round => [create(`a.unshared${round}`), grant(`a.unshared${round}`)],
      request: round => [`DELETE /v1/volumes/a.unshared${round}/grants/b`],
    },
  ],
  grantVolumeCopies: copyVisits('PUT', 'volumes'),
  revokeVolumeCopies: copyVisits('DELETE', 'volumes'),
  grantSnapshotCopies: copyVisits('PUT', 'snapshots'),
  revokeSnapshotCopies: copyVisits('DELETE', 'snapshots'),
  grantGroupCopies: copyVisits('PUT', 'groups'),
  revokeGroupCopies: copyVisits('DELETE', 'groups'),
  grantAdminVolumeCopies: copyVisits('PUT', 'admin/volumes'),
  revokeAdminVolumeCopies: copyVisits('DELETE', 'admin/volumes'),
  grantAdminSnapshotCopies: copyVisits('PUT', 'admin/snapshots'),
  revokeAdminSnapshotCopies: copyVisits('DELETE', 'admin/snapshots'),
  grantAdminGroupCopies: copyVisits('PUT', 'admin/groups'),
  revokeAdminGroupCopies: copyVisits('DELETE', 'admin/groups'),
  attachVolume: [
    { before: round => [create(`a.attached${round}`)], request: round => attach(`a.attached${round}`) },
    {
      before: round => [[`PUT /v1/nodes/more${round}`, { body: {} }]],
      request: round => attach(templates.volume, `more${round}`, several),
    },
  ],
  getAttachment: [{ request: () => [`GET /v1/volumes/${templates.volume}/attachments/${templates.node}`] }],
  detachVolume: [
    {
      before: round => [create(`a.detached${round}`), attach(`a.detached${round}`)],
      request: round => [`DELETE /v1/volumes/a.detached${round}/attachments/own`],
    },
  ],
  detachVolumeFromAllNodes: [
    {
      before: round => [create(`a.freed${round}`), attach(`a.freed${round}`)],
      request: round => [`DELETE /v1/volumes/a.freed${round}/attachments`],
    },
  ],
  listSnapshots: [
    { request: () => ['GET /v1/snapshots'] },
    { request: () => [`GET /v1/snapshots?volumeId=${templates.volume}`] },
    { request: () => ['GET /v1/snapshots', { as: 'b' }] },
  ],
  createSnapshot: [{ request: round => snapshot(`a.s${round}`, templates.volume) }],
  getSnapshot: [{ request: () => [`GET /v1/snapshots/${templates.snapshot}`] }],
  deleteSnapshot: [
    {
      before: round => [snapshot(`a.gone${round}`, templates.volume)],
      request: round => [`DELETE /v1/snapshots/a.gone${round}`],
    },
    // A fill makes all its volumes from these snapshots.
    { request: round => [`DELETE /v1/snapshots/a.cut${round}`] },
  ],
  listBlocks: [{ request: () => [`GET /v1/snapshots/${templates.snapshot}/blocks`] }],
  createGroup: [
    {
      request: round => [
        `PUT /v1/groups/a.s${round}`,
        { body: { name: 's', volumeIds: [templates.volume] } },
      ],
    },
  ],
  getGroup: [
    {
      before: round => [
        [`PUT /v1/groups/a.got${round}`, { body: { name: 'got', volumeIds: [templates.volume] } }],
      ],
      request: round => [`GET /v1/groups/a.got${round}`],
    },
  ],
  deleteGroup: [
    {
      before: round => [
        [`PUT /v1/groups/a.gone${round}`, { body: { name: 'gone', volumeIds: [templates.volume] } }],
      ],
      request: round => [`DELETE /v1/groups/a.gone${round}`],
    },
  ],
  listNodes: [
    { request: () => ['GET /v1/nodes'] },
    { request: () => ['GET /v1/nodes?limit=100&pageToken=nodes:m1000500'] },
  ],
  putNode: [{ request: round => [`PUT /v1/nodes/new${round}`, { as: 'b', body: {} }] }],
  getNode: [{ request: () => ['GET /v1/nodes/own'] }],
  detachDeadNode: [
    {
      before: round => [
        [`PUT /v1/nodes/dead${round}`, { as: 'b', body: {} }],
        create(`b.dead${round}`),
        [
          `PUT /v1/volumes/b.dead${round}/attachments/dead${round}`,
          { as: 'b', body: { capability: mounted, readonly: false } },
        ],
      ],
      request: round => [`PUT /v1/nodes/dead${round}/detachment`, { as: 'b' }],
    },
  ],
  deleteNode: [
    {
      before: round => [[`PUT /v1/nodes/gone${round}`, { body: {} }]],
      request: round => [`DELETE /v1/nodes/gone${round}`],
    },
    {
      before: round => [[`PUT /v1/nodes/gone${round}`, { as: 'b', body: {} }]],
      request: round => [`DELETE /v1/nodes/gone${round}`, { as: 'b' }],
    },
  ],
  getStatus: [{ request: () => ['GET /v1/admin/status', operator] }],
  check: [],
  repair: [],
  listDeletedVolumes: [{ request: () => ['GET /v1/admin/deleted-volumes', operator] }],
  restoreVolume: [
    {
      before: round => [create(`a.restored${round}`), [`DELETE /v1/volumes/a.restored${round}`]],
      request: round => [`PUT /v1/admin/deleted-volumes/a.restored${round}/restore`, operator],
    },
  ],
  listAllVolumes: [
    { request: () => ['GET /v1/admin/volumes', operator] },
    { request: () => ['GET /v1/admin/volumes?cluster=b', operator] },
    { request: () => [`GET /v1/admin/volumes?limit=100&pageToken=all-volumes:${beforeCrowded}`, operator] },
    {
      request: () => ['GET /v1/admin/volumes?cluster=a&limit=100&pageToken=all-volumes:a.m1000500', operator],
    },
    { request: () => ['GET /v1/admin/volumes?id=b.own', operator] },
    { request: () => ['GET /v1/admin/volumes?copyOf=b.own', operator] },
    ...[
      'pool=main',
      'state=ready',
      'state=creating',
      'state=deleted',
      'pool=main&state=deleted&cluster=b',
      'orderBy=-size',
      'orderBy=age',
      `orderBy=-age&limit=100&pageToken=all-volumes:${beforeCrowded}`,
    ].map((query): Visit => ({ request: () => [`GET /v1/admin/volumes?${query}`, operator] })),
  ],
  getAdminVolumeHealth: [{ request: () => ['GET /v1/admin/volumes/b.own/health', operator] }],
  listAllSnapshots: [
    { request: () => ['GET /v1/admin/snapshots', operator] },
    { request: () => ['GET /v1/admin/snapshots?cluster=b', operator] },
    { request: () => [`GET /v1/admin/snapshots?cluster=a&volumeId=${templates.volume}`, operator] },
    { request: () => [`GET /v1/admin/snapshots?id=${templates.snapshot}`, operator] },
  ],
  listAllAttachments: [
    { request: () => ['GET /v1/admin/attachments', operator] },
    { request: () => ['GET /v1/admin/attachments?cluster=b', operator] },
    { request: () => ['GET /v1/admin/attachments?cluster=a&limit=100', operator] },
    { request: () => ['GET /v1/admin/attachments?nodeId=own', operator] },
    { request: () => ['GET /v1/admin/attachments?nodeId=own&cluster=a', operator] },
    { request: () => [`GET /v1/admin/attachments?volumeId=${templates.volume}`, operator] },
    {
      request: () => [
        'GET /v1/admin/attachments?limit=100&pageToken=all-attachments:a.m1000300/a/m1000001',
        operator,
      ],
    },
  ],
  listAllNodes: [
    { request: () => ['GET /v1/admin/nodes', operator] },
    { request: () => ['GET /v1/admin/nodes?cluster=b', operator] },
    { request: () => ['GET /v1/admin/nodes?cluster=a&limit=100&pageToken=all-nodes:a/m1000500', operator] },
    { request: () => ['GET /v1/admin/nodes?id=a/none', operator] },
  ],
  detachNode: [
    {
      before: round => [
        [`PUT /v1/nodes/off${round}`, { body: {} }],
        create(`a.off${round}`),
        attach(`a.off${round}`, `off${round}`),
      ],
      request: round => [
        `PUT /v1/admin/nodes/a/off${round}/detachment`,
        { ...operator, body: { force: true } },
      ],
    },
  ],
  listPools: [{ request: () => ['GET /v1/admin/pools', operator] }],
  listClusters: [
    { request: () => ['GET /v1/admin/clusters?id=a', operator] },
    { request: () => ['GET /v1/admin/clusters?limit=3', operator] },
  ],
  listOperations: [
    { request: () => ['GET /v1/admin/operations?limit=100', operator] },
    { request: () => ['GET /v1/admin/operations?cluster=b', operator] },
    { request: () => ['GET /v1/admin/operations?id=volume/b.own', operator] },
  ],
  listQueues: [{ request: () => ['GET /v1/admin/queues', operator] }],
  grantAdminVolume: [
    {
      before: round => [create(`a.given${round}`)],
      request: round => [
        `PUT /v1/admin/volumes/a.given${round}/grants/b`,
        { ...operator, body: { access: 'read-only' } },
      ],
    },
  ],
  revokeAdminGrant: [
    {
      before: round => [create(`a.taken${round}`), grant(`a.taken${round}`)],
      request: round => [`DELETE /v1/admin/volumes/a.taken${round}/grants/b?force=true`, operator],
    },
  ],
  detachAdminVolume: [
    {
      before: round => [create(`a.apart${round}`), attach(`a.apart${round}`)],
      request: round => [
        `PUT /v1/admin/volumes/a.apart${round}/detachment`,
        { ...operator, body: { force: true } },
      ],
    },
  ],
  drainPool: [{ request: () => ['PUT /v1/admin/pools/main/drain', { ...operator, body: { dryRun: true } }] }],
  retireCluster: [
    { request: () => ['PUT /v1/admin/clusters/any/retirement', { ...operator, body: { dryRun: true } }] },
  ],
  deleteAdminVolume: [
    {
      before: round => [create(`a.removed${round}`)],
      request: round => [`PUT /v1/admin/volumes/a.removed${round}/deletion`, { ...operator, body: {} }],
    },
  ],
  deleteAdminSnapshot: [
    {
      before: round => [snapshot(`a.removed${round}`, templates.volume)],
      request: round => [`PUT /v1/admin/snapshots/a.removed${round}/deletion`, { ...operator, body: {} }],
    },
  ],
  deleteAdminGroup: [
    {
      before: round => [
        [`PUT /v1/groups/a.removed${round}`, { body: { name: 'removed', volumeIds: [templates.volume] } }],
      ],
      request: round => [`PUT /v1/admin/groups/a.removed${round}/deletion`, { ...operator, body: {} }],
    },
  ],
  transferVolume: [
    {
      before: round => [create(`a.moved${round}`)],
      request: round => [
        `PUT /v1/admin/volumes/a.moved${round}/owner`,
        { ...operator, body: { cluster: 'b' } },
      ],
    },
    {
      before: round => [
        create(`a.again${round}`),
        [`PUT /v1/admin/volumes/a.again${round}/owner`, { ...operator, body: { cluster: 'b' } }],
      ],
      request: round => [
        `PUT /v1/admin/volumes/a.again${round}/owner`,
        { ...operator, body: { cluster: 'b' } },
      ],
    },
  ],
  importVolume: [
    {
      request: round => [
        `PUT /v1/admin/imports/a.imported${round}`,
        { ...operator, body: { pool: 'main', storageId: `orphan${round}`, sizeBytes: 2 ** 20 } },
      ],
    },
  ],
  listHistory: [{ request: () => ['GET /v1/admin/history', operator] }],
  listAuditLog: [
    { request: () => ['GET /v1/admin/audit-log', operator] },
    { request: () => ['GET /v1/admin/audit-log?cluster=b', operator] },
    { request: () => ['GET /v1/admin/audit-log?resource=b.own', operator] },
    { request: () => ['GET /v1/admin/audit-log?resource=b.own&cluster=b', operator] },
    { request: () => ['GET /v1/admin/audit-log?resource=a.m1000001&cluster=a', operator] },
  ],
};
