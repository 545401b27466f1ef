import { Problem } from '../../../src/api/problem.ts';
import { isAtOrBelow, topMount, type Mount } from '../../../src/lib/linux/mountinfo.ts';
import { hasContext } from '../../host/selinux.ts';
import type { VolumeRecord } from '../../state/records.ts';
import type { Agent } from '../agent.ts';
import { inaccessible, type Carrier, type VolumeFault } from '../carrier.ts';
import { foreignProblem, isTurnedReadonly } from '../mounts.ts';
import { isMountedReadonly } from '../request-checks.ts';

type Members = Pick<Carrier, 'isMounted' | 'judge' | 'isAsAsked' | 'findUses' | 'findSource' | 'examine'>;

/** What every volume has that is mounted at its staging path, and bound to its target paths from there. */
export function mountedMembers(agent: Agent, record: VolumeRecord, judge: Carrier['judge']): Members {
  const { capability, stagingPath, volumeId } = record;
  const findUses = (mounts: readonly Mount[]): readonly Mount[] => partsOf(agent, record, mounts);
  return {
    isMounted: true,
    judge,
    isAsAsked: mount => isAsAsked(mount, record),
    findUses,
    async findSource(mounts) {
      const mount = topMount(mounts, stagingPath);
      if (!mount)
        throw new Problem('FAILED_PRECONDITION', `volume "${volumeId}" is not mounted at "${stagingPath}"`);
      if ((await judge(mount)) !== 'own') throw foreignProblem(mount, volumeId);
      if (!hasContext(mount, capability))
        throw new Problem(
          'FAILED_PRECONDITION',
          `volume "${volumeId}" is staged without the context that was asked for`,
        );
      return {
        path: stagingPath,
        readonly: mount.options.includes('ro'),
        findUse: async others => findUses(others)[0],
      };
    },
    async examine({ path, mounts }) {
      const mount = topMount(mounts, path);
      if (mount) return findFaults(mount, record, judge);
      return [inaccessible('NotMounted', `volume "${volumeId}" is not mounted at "${path}"`)];
    },
  };
}

/** Flags that mountinfo shows for a mount as they were given. */
const visibleFlags: ReadonlySet<string> = new Set(['nosuid', 'nodev', 'noexec', 'noatime', 'nodiratime']);

/** True when a mount has the context and the flags that the record asks for: a bind that was interrupted may lack them. */
export function isAsAsked(mount: Mount, record: VolumeRecord): boolean {
  const { options } = mount;
  const wanted = (record.capability.mountFlags ?? []).filter(flag => visibleFlags.has(flag));
  return (
    hasContext(mount, record.capability) &&
    wanted.every(flag => options.includes(flag)) &&
    options.includes('ro') === isMountedReadonly(record)
  );
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
  if (found === 'gone')
    return [inaccessible('DeviceGone', `what volume "${volumeId}" was mounted from is gone`)];
  if (!isTurnedReadonly(record, mount)) return [];
  const message = `the ${mount.type} of volume "${volumeId}" turned read-only after an error`;
  return [{ status: 'DEGRADED', reason: 'TurnedReadOnly', message }];
}

/**
 * The mounts below kubelet's directory, beside the staged one, that show what that shows or a part of it; not what is
 * another volume's. Several volumes may be one share, or lie in one another: whose such a mount is, mountinfo does not
 * tell then, and none is returned.
 */
function partsOf(
  { base, records }: Agent,
  { volumeId, stagingPath }: VolumeRecord,
  mounts: readonly Mount[],
): readonly Mount[] {
  const staged = topMount(mounts, stagingPath);
  if (!staged) return [];
  const isOthers = ({ path }: Mount): boolean => records.holderOf(path, volumeId) !== undefined;
  const isElsewhere = ({ path }: Mount): boolean => path !== stagingPath && isAtOrBelow(path, base.real);
  const elsewhere = mounts.filter(isElsewhere);
  if (elsewhere.some(mount => isOthers(mount) && (isPartOf(mount, staged) || isPartOf(staged, mount))))
    return [];
  return elsewhere.filter(mount => isPartOf(mount, staged));
}

/** True when the mount shows a part of what the other one shows, or all of it. */
function isPartOf(mount: Mount, { device, root, source }: Mount): boolean {
  const isSameSource = mount.source === source || mount.source.startsWith(`${source}/`);
  return mount.device === device && isSameSource && isAtOrBelow(mount.root, root);
}
