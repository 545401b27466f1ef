import { Problem } from './problem.ts';

/** The paths of the Storage API v1, as patterns for a router. Every mutating route is PUT or DELETE. */
export const routes = {
  capabilities: '/v1/capabilities',
  capacity: '/v1/capacity',
  volumes: '/v1/volumes',
  volume: '/v1/volumes/:volumeId',
  validation: '/v1/volumes/:volumeId/validate',
  attachments: '/v1/volumes/:volumeId/attachments',
  attachment: '/v1/volumes/:volumeId/attachments/:nodeId',
  size: '/v1/volumes/:volumeId/size',
  parameters: '/v1/volumes/:volumeId/parameters',
  health: '/v1/volumes/:volumeId/health',
  volumesHealth: '/v1/health/volumes',
  snapshots: '/v1/snapshots',
  snapshot: '/v1/snapshots/:snapshotId',
  blocks: '/v1/snapshots/:snapshotId/blocks',
  group: '/v1/groups/:groupId',
  node: '/v1/nodes/:nodeId',
} as const;

/** The same paths with ids filled in and escaped. */
export const paths = {
  capabilities: routes.capabilities,
  capacity: routes.capacity,
  volumes: routes.volumes,
  volume: (volumeId: string) => `${routes.volumes}/${segment(volumeId)}`,
  validation: (volumeId: string) => `${paths.volume(volumeId)}/validate`,
  attachments: (volumeId: string) => `${paths.volume(volumeId)}/attachments`,
  attachment: (volumeId: string, nodeId: string) => `${paths.attachments(volumeId)}/${segment(nodeId)}`,
  size: (volumeId: string) => `${paths.volume(volumeId)}/size`,
  parameters: (volumeId: string) => `${paths.volume(volumeId)}/parameters`,
  health: (volumeId: string) => `${paths.volume(volumeId)}/health`,
  volumesHealth: routes.volumesHealth,
  snapshots: routes.snapshots,
  snapshot: (snapshotId: string) => `${routes.snapshots}/${segment(snapshotId)}`,
  blocks: (snapshotId: string) => `${paths.snapshot(snapshotId)}/blocks`,
  group: (groupId: string) => `/v1/groups/${segment(groupId)}`,
  node: (nodeId: string) => `/v1/nodes/${segment(nodeId)}`,
};

/** Most entries in one page, and how many a page has when nothing is asked; a page stays well below gRPC's 4 MiB. */
export const maxPageEntries = 1_000;

/** Most stretches of blocks in one page. */
export const maxPageBlocks = 4_096;

/** Most bytes in a request's or answer's body. */
export const maxBodyBytes = 4 * 1024 * 1024;

function segment(id: string): string {
  if (id === '' || id === '.' || id === '..' || !id.isWellFormed())
    throw new Problem('NOT_FOUND', `there is nothing with the id "${id}"`);
  return encodeURIComponent(id);
}
