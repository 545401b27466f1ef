import { preconditionProblem } from '../../../src/api/problem.ts';
import { topMount, type Mount } from '../../../src/lib/linux/mountinfo.ts';
import { hasContext } from '../../host/selinux.ts';
import type { VolumeRecord } from '../../state/records.ts';
import { inaccessible, type Carrier, type VolumeFault } from '../carrier.ts';
import { foreignProblem, isTurnedReadonly } from '../mounts.ts';

/** What every volume has that is mounted at its staging path, and bound to its target paths from there. */
export function mountedMembers(
  record: VolumeRecord,
  judge: Carrier['judge'],
): Pick<Carrier, 'isMounted' | 'judge' | 'findSource' | 'examine'> {
  const { capability, stagingPath, volumeId } = record;
  return {
    isMounted: true,
    judge,
    async findSource(mounts) {
      const mount = topMount(mounts, stagingPath);
      if (!mount) throw preconditionProblem(`volume "${volumeId}" is not mounted at "${stagingPath}"`);
      if ((await judge(mount)) !== 'own') throw foreignProblem(mount, volumeId);
      if (!hasContext(mount, capability))
        throw preconditionProblem(`volume "${volumeId}" is staged without the context that was asked for`);
      return { path: stagingPath, readonly: mount.options.includes('ro') };
    },
    async examine({ path, mounts }) {
      const mount = topMount(mounts, path);
      if (mount) return findFaults(mount, record, judge);
      return [inaccessible('NotMounted', `volume "${volumeId}" is not mounted at "${path}"`)];
    },
  };
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
