import type { ClusterState, PoolState, RunningOperation, Status } from '../../../api/admin.ts';
import { asProblem } from '../../../api/problem.ts';
import type { Entry, Kind } from '../../kind.ts';
import { kinds, type KindName } from '../../kinds/index.ts';
import { listAll, type Lister } from '../../listing.ts';
import type { StatusFacts } from './judge.ts';

/** Gathers the facts of the gateway at this address. A gateway that does not answer is a fact. */
export async function gather(connection: Lister, gateway: string): Promise<StatusFacts> {
  const { client, call } = connection;
  const all = <E extends Entry>(name: KindName): Promise<readonly E[]> =>
    listAll<E>(connection, kinds[name] as Kind<E>, {});
  const nowMs = Date.now();
  let status: Status;
  try {
    status = await client.getStatus({}, call());
  } catch (error) {
    const { code, detail } = asProblem(error);
    // A refused token is the caller's own fault, and not one of the gateway.
    if (code !== 'UNAVAILABLE' && code !== 'DEADLINE_EXCEEDED') throw error;
    return { gateway, nowMs, fault: detail };
  }
  if (!status.store.answers) return { gateway, nowMs, status };
  const [pools, clusters, operations] = await Promise.all([
    all<PoolState>('pools'),
    all<ClusterState>('clusters'),
    all<RunningOperation>('operations'),
  ]);
  return { gateway, nowMs, status, pools, clusters, operations };
}
