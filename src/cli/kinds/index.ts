import type { Kind } from '../kind.ts';
import { attachments } from './attachments.ts';
import { auditLog } from './audit-log.ts';
import { clusters } from './clusters.ts';
import { history } from './history.ts';
import { nodes } from './nodes.ts';
import { operations } from './operations.ts';
import { pools } from './pools.ts';
import { queues } from './queues.ts';
import { snapshots } from './snapshots.ts';
import { volumes } from './volumes.ts';

const table = {
  volumes,
  snapshots,
  attachments,
  nodes,
  pools,
  clusters,
  operations,
  queues,
  'audit-log': auditLog,
  history,
};

export type KindName = keyof typeof table;

export const kinds: Readonly<Record<KindName, Kind>> = table;
