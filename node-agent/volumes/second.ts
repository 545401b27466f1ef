import { Problem } from '../../src/api/problem.ts';
import { isAtOrBelow, mountsAt, topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import type { Agent } from './agent.ts';
import { allowsManyTargets } from './request-checks.ts';
import { partsOf } from './ownership.ts';
import type { VolumeRecord } from '../state/records.ts';

/** Where a volume is to be published, and which mounts show it. */
export type Placing = {
  readonly targetPath: string;
  readonly mounts: readonly Mount[];
  readonly shows: (mount: Mount) => Promise<boolean>;
};

/**
 * Throws FAILED_PRECONDITION for a volume that may have one path and is published at another one: by its record, or by
 * what is mounted, since a record may have been lost. A path that has the volume already is no second one, and what
 * its pod has from there, such as a part of it (subPath), neither.
 */
export async function refuseSecond(agent: Agent, record: VolumeRecord, placing: Placing): Promise<void> {
  const { volumeId, capability, targets } = record;
  if (allowsManyTargets(capability)) return;
  const { targetPath, mounts } = placing;
  const recorded = targets.find(({ path }) => path !== targetPath && mountsAt(mounts, path).length > 0);
  const other = recorded ?? (await findUnrecorded(agent, record, placing));
  if (other)
    throw new Problem(
      'FAILED_PRECONDITION',
      `volume "${volumeId}" is published at "${other.path}" already, and ${capability.accessMode} allows one path`,
    );
}

async function findUnrecorded(
  agent: Agent,
  record: VolumeRecord,
  { targetPath, mounts, shows }: Placing,
): Promise<Mount | undefined> {
  if (topMount(mounts, targetPath)) return undefined;
  if (record.capability.accessType === 'mount') return partsOf(agent, record, mounts)[0];
  for (const mount of mounts)
    if (isAtOrBelow(mount.path, agent.base.real) && (await shows(mount))) return mount;
  return undefined;
}
