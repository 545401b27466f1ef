import { nearestMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import type { Base } from '../volumes/target-path.ts';

/**
 * Throws where what is mounted below kubelet's directory would reach no pod, whose data would then lie on the node's
 * own disk: where that directory is a mount of its own, as in a pod, or lies on one that only takes mounts from
 * elsewhere, and that mount is not shared. A plain host whose `/` is private has no such mount.
 */
export function requireShared({ named, real }: Base, mounts: readonly Mount[]): void {
  const nearest = nearestMount(mounts, real);
  if (!nearest || nearest.path === '/' || spreads(nearest, 'shared:')) return;
  if (nearest.path === real || spreads(nearest, 'master:'))
    throw new Error(
      `what the agent mounts below "${named}" would reach no pod, since the mount at "${nearest.path}" is not shared: set mountPropagation: Bidirectional for it`,
    );
}

function spreads({ propagation = [] }: Mount, how: 'shared:' | 'master:'): boolean {
  return propagation.some(field => field.startsWith(how));
}
