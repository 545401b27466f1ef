import type { ClusterState } from '../api/admin.ts';
import { describeRefused, isAccepted } from './refused-tokens.ts';

/** Describes the faults of a cluster; undefined if there are none. */
export function faultOfCluster(cluster: ClusterState): string | undefined {
  const { id, keyFaults = [], isRetirementUnfinished, refusedTokens } = cluster;
  const refused = refusedTokens && { cluster: id, ...refusedTokens };
  const all = [
    ...keyFaults,
    ...(isRetirementUnfinished ? ['its retirement is not finished'] : []),
    ...(refused && !isAccepted(refused, cluster) ? [describeRefused(refused)] : []),
  ];
  return all.length > 0 ? all.join('; ') : undefined;
}
