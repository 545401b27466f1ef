import { attachments } from './chapters/attachments.ts';
import { authentication } from './chapters/authentication.ts';
import { capabilities } from './chapters/capabilities.ts';
import { capacity } from './chapters/capacity.ts';
import { changes } from './chapters/changes.ts';
import { cutCopies } from './chapters/cut-copies.ts';
import { data } from './chapters/data.ts';
import { faults } from './chapters/faults.ts';
import { imports } from './chapters/imports.ts';
import { groups } from './chapters/groups.ts';
import { isolation } from './chapters/isolation.ts';
import { late } from './chapters/late.ts';
import { lists } from './chapters/lists.ts';
import { lostSpace } from './chapters/lost-space.ts';
import { nodes } from './chapters/nodes.ts';
import { order } from './chapters/order.ts';
import { restarts } from './chapters/restarts.ts';
import { sharing } from './chapters/sharing.ts';
import { snapshots } from './chapters/snapshots.ts';
import { transport } from './chapters/transport.ts';
import { copies } from './chapters/copies.ts';
import { tornCopies } from './chapters/torn-copies.ts';
import { volumes } from './chapters/volumes.ts';
import { ways } from './chapters/ways.ts';
import type { Requirement } from './requirement.ts';
import { sectionOf, sections, type RequirementId } from './sections.ts';

export const requirements = {
  ...transport,
  ...authentication,
  ...volumes,
  ...changes,
  ...imports,
  ...attachments,
  ...sharing,
  ...nodes,
  ...snapshots,
  ...groups,
  ...lists,
  ...capabilities,
  ...capacity,
  ...faults,
  ...restarts,
  ...lostSpace,
  ...order,
  ...late,
  ...isolation,
  ...data,
  ...copies,
  ...cutCopies,
  ...tornCopies,
  ...ways,
};

/** The ids of all requirements, in the order of the document. */
export const requirementIds = (Object.keys(requirements) as (keyof typeof requirements)[]).sort(
  (one, other) => placeOf(one) - placeOf(other),
);

function placeOf(id: RequirementId): number {
  const number = Number(id.slice(id.lastIndexOf('-') + 1));
  return Object.keys(sections).indexOf(sectionOf(id)) * 1_000 + number;
}

/** Returns the requirement with this id; throws when there is none. */
export function requirementOf(id: RequirementId): Requirement {
  const found = (requirements as Readonly<Record<string, Requirement>>)[id];
  if (!found) throw new Error(`there is no requirement "${id}"`);
  return found;
}
