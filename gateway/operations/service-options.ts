import type { SignDetached } from '../pools/identity.ts';
import type { Pools } from '../pools/pools.ts';
import type { Engine } from '../store.ts';
import type { Turns } from '../tenancy/turns.ts';
import type { Operations } from './operation.ts';

/** What the services work with. `keepDeletedMs` is how long a deleted volume can be restored; 0 or absent: not at all. */
export type ServiceOptions = {
  readonly engine: Engine;
  readonly pools: Pools;
  readonly operations: Operations;
  readonly turns: Turns;
  /** Signs attachments; absent: they are not signed. */
  readonly signDetached?: SignDetached | undefined;
  readonly keepDeletedMs?: number;
};
