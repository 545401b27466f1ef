import { createAttachments, type Attachments } from './attachments/attachments.ts';
import { createBlocks, type Blocks } from './snapshots/changed-blocks.ts';
import { createCapacities, type Capacities } from './volumes/capacity.ts';
import { createExpansion, type Expansion } from './volumes/expand.ts';
import { createGroups, type Groups } from './snapshots/groups.ts';
import { createVolumesHealth, type VolumesHealth } from './volumes/health.ts';
import { createModification, type Modification } from './volumes/modify.ts';
import { createNodes, type Nodes } from './attachments/nodes.ts';
import { createSnapshots, type Snapshots } from './snapshots/snapshots.ts';
import type { ServiceOptions } from './operations/service-options.ts';
import { createVolumes, type Volumes } from './volumes/volumes.ts';

/** All that the API serves, one member for each noun. */
export type Services = {
  readonly volumes: Volumes;
  readonly capacities: Capacities;
  readonly expansion: Expansion;
  readonly modification: Modification;
  readonly health: VolumesHealth;
  readonly snapshots: Snapshots;
  readonly groups: Groups;
  readonly blocks: Blocks;
  readonly attachments: Attachments;
  readonly nodes: Nodes;
};

/** Makes the services over one store and its pools. */
export function createServices(options: ServiceOptions): Services {
  return {
    volumes: createVolumes(options),
    capacities: createCapacities(options),
    expansion: createExpansion(options),
    modification: createModification(options),
    health: createVolumesHealth(options),
    snapshots: createSnapshots(options),
    groups: createGroups(options),
    blocks: createBlocks(options),
    attachments: createAttachments(options),
    nodes: createNodes(options.engine),
  };
}
