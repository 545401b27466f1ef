import { createAttachments } from './attachments/attachments.ts';
import { createDeadNodeDetachment } from './attachments/dead-nodes.ts';
import { createNodes } from './attachments/nodes.ts';
import type { ServiceOptions } from './operations/service-options.ts';
import { createCopyGrants } from './sharing/copies.ts';
import { createSharing } from './sharing/grants.ts';
import { createBlocks } from './snapshots/changed-blocks.ts';
import { createGroups, createSnapshots } from './snapshots/snapshots.ts';
import { createCapacities } from './volumes/capacity.ts';
import { createExpand } from './volumes/expand.ts';
import { createVolumesHealth } from './volumes/health.ts';
import { createModify } from './volumes/modify.ts';
import { createVolumes } from './volumes/volumes.ts';

export type Services = Readonly<ReturnType<typeof createServices>>;

export function createServices(options: ServiceOptions) {
  const attachments = createAttachments(options);
  const modify = createModify(options);
  return {
    volumes: createVolumes(options),
    capacities: createCapacities(options),
    changes: {
      expand: createExpand(options),
      async modify(...[cluster, id, given]: Parameters<typeof modify>) {
        const volume = await modify(cluster, id, given);
        await attachments.renewLimits(id);
        return volume;
      },
    },
    health: createVolumesHealth(options),
    snapshots: createSnapshots(options),
    groups: createGroups(options),
    blocks: createBlocks(options),
    attachments,
    nodes: createNodes(options),
    detachDeadNode: createDeadNodeDetachment({ ...options, attachments }),
    sharing: createSharing(options),
    copyGrants: createCopyGrants(options),
  };
}
