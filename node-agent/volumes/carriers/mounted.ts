import { partMountOptions, type MountKind } from '../../../src/api/filesystems/mount-options.ts';
import { preconditionProblem } from '../../../src/api/problem.ts';
import { topMount, type Mount } from '../../../src/lib/linux/mountinfo.ts';
import { hasContext } from '../../host/selinux.ts';
import type { VolumeRecord } from '../../state/records.ts';
import type { Agent } from '../agent.ts';
import { inaccessible, type Carrier, type VolumeFault } from '../carrier.ts';
import { foreignProblem, isTurnedReadonly } from '../mounts.ts';

/** Makes the carrier members of all volumes that are mounted at their staging path and bound to target paths from there. */
export function mountedMembers(
  record: VolumeRecord,
  judge: Carrier['judge'],
): Pick<Carrier, 'isMounted' | 'judge' | 'findSource' | 'isReadonly' | 'examine'> {
  const { capability, stagingPath, volumeId } = record;
  return {
    isMounted: true,
    judge,
    async findSource(mounts) {
      const mount = topMount(mounts, stagingPath);
      if (!mount) throw preconditionProblem(`volume "${volumeId}" is not mounted at "${stagingPath}"`);
      if ((await judge(mount)) !== 'own') throw foreignProblem(mount, volumeId);
      if (!hasContext(mount, capability))
        throw preconditionProblem(
          `volume "${volumeId}" is staged without the SELinux context of the request; unstage it first`,
        );
      return { path: stagingPath, readonly: mount.options.includes('ro') };
    },
    isReadonly: async ({ options }) => options.includes('ro'),
    async examine({ path, mounts }) {
      const mount = topMount(mounts, path);
      if (mount) return findFaults(mount, record, judge);
      return [inaccessible('NotMounted', `volume "${volumeId}" is not mounted at "${path}"`)];
    },
  };
}

/** Returns the volume's mount options that have an effect, and logs the other ones. */
export function usedOptions(agent: Pick<Agent, 'log'>, record: VolumeRecord, kind: MountKind): string[] {
  const { volumeId, capability } = record;
  const { used, unused } = partMountOptions(kind, capability.mountFlags ?? []);
  if (unused.length > 0)
    agent.log.info('omits mount options that have no effect', { volumeId, detail: unused.join(', ') });
  return used;
}

async function findFaults(
  mount: Mount,
  record: VolumeRecord,
  judge: Carrier['judge'],
): Promise<readonly VolumeFault[]> {
  const { volumeId } = record;
  const found = await judge(mount);
  if (found === 'foreign')
    return [inaccessible('ForeignMount', `"${mount.path}" holds something else than volume "${volumeId}"`)];
  if (found === 'stale')
    return [inaccessible('DeviceGone', `the device or share of volume "${volumeId}" is missing`)];
  if (!isTurnedReadonly(record, mount)) return [];
  const message = `the ${mount.type} of volume "${volumeId}" turned read-only after an error`;
  return [{ status: 'DEGRADED', reason: 'TurnedReadOnly', message }];
}
