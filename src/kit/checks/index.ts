import type { Check } from '../check.ts';
import type { RequirementId } from '../requirements.ts';
import { attachments } from './attachments.ts';
import { authentication } from './authentication.ts';
import { capacity } from './capacity.ts';
import { changes } from './changes.ts';
import { data } from './data.ts';
import { faults } from './faults.ts';
import { groups } from './groups.ts';
import { lists } from './lists.ts';
import { order } from './order.ts';
import { restarts } from './restarts.ts';
import { snapshots } from './snapshots.ts';
import { transport } from './transport.ts';
import { volumes } from './volumes.ts';

/** All checks, by requirement. */
export const checks: ReadonlyMap<RequirementId, Check> = new Map(
  [
    transport,
    authentication,
    volumes,
    changes,
    attachments,
    snapshots,
    groups,
    lists,
    capacity,
    faults,
    restarts,
    order,
    data,
  ].flatMap(some => Object.entries(some) as [RequirementId, Check][]),
);
