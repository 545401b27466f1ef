import type { Protocol } from '../../../src/api/attachment.ts';
import { requireShareProtocol } from '../../../src/api/filesystems/mount-options.ts';
import { unavailableProblem } from '../../../src/api/problem.ts';
import { topMount, type Mount } from '../../../src/lib/linux/mountinfo.ts';
import type { Share, ShareConnector } from '../../connector.ts';
import { describe, mountAndSee, unmountAll, type MountRequest } from '../../host/mount.ts';
import { inPhase } from '../../host/phases.ts';
import { contextDroppedProblem, hasContext } from '../../host/selinux.ts';
import type { VolumeRecord } from '../../state/records.ts';
import type { Agent } from '../agent.ts';
import type { Carrier } from '../carrier.ts';
import { isAsRequested } from '../mounts.ts';
import { isMountedReadonly, requireShareUsable } from '../request-checks.ts';
import { mountedMembers, usedOptions } from './mounted.ts';

type ShareVolume = {
  readonly agent: Agent;
  readonly record: VolumeRecord;
  readonly connector: ShareConnector<Protocol>;
};

/** Creates the carrier of a share: a directory of a server that other nodes may use too. It has no device, only its mount. */
export function createShare({ agent, record, connector }: ShareVolume): Carrier {
  const { attachment } = record;
  const { host } = agent;
  const judge = (mount: Mount) => connector.judge(attachment, mount, host);
  return {
    ...mountedMembers(record, judge),
    isSelfConnecting: false,
    ...(connector.maySquashRoot && { maySquashRoot: true }),
    requireUsable: () => requireShareUsable(record),
    async connect(secrets) {
      const share = await inPhase(agent, 'connect', () => connector.connect(attachment, host, secrets));
      return {
        prepare: async () => ({
          mount: () => inPhase(agent, 'mount', () => mountShare(agent, record, { share, judge })),
        }),
      };
    },
    // A forced unmount makes requests fail, for all mounts of the same filesystem, so it is done for a single mount only.
    async cutOff(mounts) {
      const mount = topMount(mounts, record.stagingPath);
      const isShared = mounts.some(other => other !== mount && other.device === mount?.device);
      const forcing = { ...agent, unmounting: { ...agent.unmounting, isHung: true } };
      if (mount && !isShared) await unmountAll(forcing, mount.path, mounts);
    },
    disconnect: async () => {},
    async locate({ path, mounts }) {
      const mount = topMount(mounts, path);
      if (!mount || (await judge(mount)) !== 'own') return undefined;
      const { sizeBytes } = attachment;
      return {
        readBytes: async () => sizeBytes,
        // A share has all the space that its server gives it.
        growDevice: async requiredBytes => Math.max(requiredBytes, sizeBytes),
      };
    },
    isHere: async () => false,
  };
}

type ShareMount = { readonly share: Share; readonly judge: Carrier['judge'] };

/** Mounts the share at its staging path and checks that mountinfo shows it there as requested; unmounts anything else. */
async function mountShare(agent: Agent, record: VolumeRecord, { share, judge }: ShareMount): Promise<void> {
  const { host } = agent;
  const { capability, stagingPath: path, volumeId } = record;
  const { type, source, through } = share;
  const shows = async (mount: Mount) => (await judge(mount)) === 'own';
  const before = await host.mounts();
  const whenAstray = () => unmountStrays(agent, { before, path, shows });
  const requested = usedOptions(agent, record, requireShareProtocol(record.attachment.protocol));
  const options = optionsOf(share, record, requested);
  const mount = await mountAndSee(host, { type, options, source, through, path, shows, whenAstray });
  if (isAsRequested(mount, record)) return;
  await unmountAll(agent, path);
  if (!hasContext(mount, capability)) throw await contextDroppedProblem(volumeId, host);
  throw unavailableProblem(
    `"${path}" showed ${describe(mount)} after volume "${volumeId}" was mounted there; try again`,
  );
}

type StraySearch = Pick<MountRequest, 'path' | 'shows'> & { readonly before: readonly Mount[] };

/**
 * Unmounts mounts of the share that a mount command made at another path, since a helper such as mount.nfs resolves the path
 * itself. Only new mounts are unmounted; the kernel reuses the ids of mounts, so mounts are compared by id and path.
 */
async function unmountStrays(agent: Agent, { before, path, shows }: StraySearch): Promise<void> {
  const known = new Set(before.map(({ id, path: at }) => `${id} ${at}`));
  for (const mount of await agent.host.mounts())
    if (!known.has(`${mount.id} ${mount.path}`) && mount.path !== path && (await shows(mount)))
      await unmountAll(agent, mount.path).catch(() => {});
}

function optionsOf(
  { options }: Share,
  record: VolumeRecord,
  requested: readonly string[],
): readonly string[] {
  const flags = isMountedReadonly(record) && !requested.includes('ro') ? ['ro', ...requested] : requested;
  const given = new Set(flags.map(nameOf));
  return [...options.filter(option => !given.has(nameOf(option))), ...flags];
}

function nameOf(option: string): string {
  return option.split('=', 1)[0] ?? '';
}
