import { nearestMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import type { Base } from '../volumes/target-path.ts';

/**
 * Throws if mounts below kubelet's directory would not reach pods, which would then write to the node's own disk. That is the
 * case if the directory is its own mount, as in a container, or lies on a mount that only receives mounts, and that mount is
 * not shared. A host that runs the agent directly passes, even if its `/` is private.
 */
export function requireShared({ named, real }: Base, mounts: readonly Mount[]): void {
  const nearest = nearestMount(mounts, real);
  if (!nearest || nearest.path === '/' || spreads(nearest, 'shared:')) return;
  if (nearest.path === real || spreads(nearest, 'master:'))
    throw new Error(
      `mounts of the agent below "${named}" would not reach pods, since the mount at "${nearest.path}" is not shared: set mountPropagation: Bidirectional for it`,
    );
}

function spreads({ propagation = [] }: Mount, how: 'shared:' | 'master:'): boolean {
  return propagation.some(field => field.startsWith(how));
}
