import type { Log } from '../../src/lib/log.ts';
import type { DetachedSigner } from '../pools/identity.ts';
import type { Pools } from '../pools/pools.ts';
import type { Engine } from '../store.ts';
import type { EnrolledClusters } from '../callers/cluster.ts';
import type { Slices } from '../scheduling/slices.ts';
import type { Operations } from './operation.ts';

/** The parts that all services use. A deleted volume can be restored for `keepDeletedMs`; 0 or absent: it cannot. */
export type ServiceOptions = {
  readonly engine: Engine;
  readonly pools: Pools;
  readonly operations: Operations;
  readonly slices: Slices;
  /** Signs attachments; absent: attachments are unsigned. */
  readonly signDetached?: DetachedSigner | undefined;
  readonly keepDeletedMs?: number;
  readonly clusters: EnrolledClusters;
  readonly log: Log;
};
