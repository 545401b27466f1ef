import { createAttachments, type Attachments } from './attachments.ts';
import { createBlocks, type Blocks } from './blocks.ts';
import { createExpansion, type Expansion } from './expansion.ts';
import { createGroups, type Groups } from './groups.ts';
import { createVolumesHealth, type VolumesHealth } from './health.ts';
import { createModification, type Modification } from './modification.ts';
import { createNodes, type Nodes } from './nodes.ts';
import { createSnapshots, type Snapshots } from './snapshots.ts';
import { createVolumes, type ServiceOptions, type Volumes } from './volumes.ts';

/** All that the API serves, one member for each noun. */
export type Services = {
  readonly volumes: Volumes;
  readonly expansion: Expansion;
  readonly modification: Modification;
  readonly health: VolumesHealth;
  readonly snapshots: Snapshots;
  readonly groups: Groups;
  readonly blocks: Blocks;
  readonly attachments: Attachments;
  readonly nodes: Nodes;
};

/** Makes the services over one store and one backend. */
export function createServices(options: ServiceOptions): Services {
  return {
    volumes: createVolumes(options),
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
