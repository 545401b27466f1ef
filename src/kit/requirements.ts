import { attachments } from './chapters/attachments.ts';
import { authentication } from './chapters/authentication.ts';
import { capacity } from './chapters/capacity.ts';
import { changes } from './chapters/changes.ts';
import { data } from './chapters/data.ts';
import { faults } from './chapters/faults.ts';
import { groups } from './chapters/groups.ts';
import { lists } from './chapters/lists.ts';
import { order } from './chapters/order.ts';
import { restarts } from './chapters/restarts.ts';
import { snapshots } from './chapters/snapshots.ts';
import { transport } from './chapters/transport.ts';
import { volumes } from './chapters/volumes.ts';
import type { Requirement } from './requirement.ts';
import type { RequirementId } from './sections.ts';

/** Every requirement by its id, in the order of the document. */
export const requirements = {
  ...transport,
  ...authentication,
  ...volumes,
  ...changes,
  ...attachments,
  ...snapshots,
  ...groups,
  ...lists,
  ...capacity,
  ...faults,
  ...restarts,
  ...order,
  ...data,
};

/** The ids of all requirements, in their order. */
export const requirementIds = Object.keys(requirements) as readonly (keyof typeof requirements)[];

/** Returns the requirement with this id; throws when there is none. */
export function requirementOf(id: RequirementId): Requirement {
  const found = (requirements as Readonly<Record<string, Requirement>>)[id];
  if (!found) throw new Error(`there is no requirement "${id}"`);
  return found;
}
