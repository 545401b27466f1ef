import type { Protocol } from '../../../src/api/attachment.ts';
import { unavailableProblem } from '../../../src/api/problem.ts';
import { topMount, type Mount } from '../../../src/lib/linux/mountinfo.ts';
import type { Share, ShareConnector } from '../../connector.ts';
import { describe, mountAndSee, unmountAll, type Mounting } from '../../host/mount.ts';
import { inPhase } from '../../host/phases.ts';
import { contextDroppedProblem, hasContext } from '../../host/selinux.ts';
import type { VolumeRecord } from '../../state/records.ts';
import type { Agent } from '../agent.ts';
import type { Carrier } from '../carrier.ts';
import { isAsAsked } from '../mounts.ts';
import { isMountedReadonly, requireShareUsable } from '../request-checks.ts';
import { mountedMembers } from './mounted.ts';

/** A volume that is a share, and what connects it. */
type ShareVolume = {
  readonly agent: Agent;
  readonly record: VolumeRecord;
  readonly connector: ShareConnector<Protocol>;
};

/** A directory that others may use at the same time: it has no device, and its mount is all that there is of it. */
export function createShare({ agent, record, connector }: ShareVolume): Carrier {
  const { attachment } = record;
  const { host } = agent;
  const judge = (mount: Mount) => connector.judge(attachment, mount, host);
  return {
    ...mountedMembers(record, judge),
    isSelfConnecting: false,
    requireUsable: () => requireShareUsable(record, connector),
    async connect(secrets) {
      const share = await inPhase(agent, 'connect', () => connector.connect(attachment, host, secrets));
      return {
        prepare: async () => ({
          mount: () => inPhase(agent, 'mount', () => mountShare(agent, record, { share, judge })),
        }),
      };
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

type Sharing = { readonly share: Share; readonly judge: Carrier['judge'] };

/** Mounts the share at its staging path, until mountinfo shows it there as it was asked for; anything else is unmounted. */
async function mountShare(agent: Agent, record: VolumeRecord, { share, judge }: Sharing): Promise<void> {
  const { host } = agent;
  const { capability, stagingPath: path, volumeId } = record;
  const { type, source, through } = share;
  const shows = async (mount: Mount) => (await judge(mount)) === 'own';
  const before = await host.mounts();
  const whenAstray = () => unmountStrays(agent, { before, path, shows });
  const options = optionsOf(share, record);
  const mount = await mountAndSee(host, { type, options, source, through, path, shows, whenAstray });
  if (isAsAsked(mount, record)) return;
  await unmountAll(agent, path);
  if (!hasContext(mount, capability)) throw await contextDroppedProblem(volumeId, host);
  throw unavailableProblem(
    `${describe(mount)} was at "${path}" after volume "${volumeId}" was mounted there`,
  );
}

type Strays = Pick<Mounting, 'path' | 'shows'> & { readonly before: readonly Mount[] };

/**
 * A helper such as mount.nfs resolves the path by itself: what it mounted elsewhere is unmounted there. What shows the same
 * share after a mount that failed is somebody else's. The kernel gives the id of a mount that is gone to the next one.
 */
async function unmountStrays(agent: Agent, { before, path, shows }: Strays): Promise<void> {
  const known = new Set(before.map(({ id, path: at }) => `${id} ${at}`));
  for (const mount of await agent.host.mounts())
    if (!known.has(`${mount.id} ${mount.path}`) && mount.path !== path && (await shows(mount)))
      await unmountAll(agent, mount.path).catch(() => {});
}

function optionsOf({ options }: Share, record: VolumeRecord): readonly string[] {
  const asked = record.capability.mountFlags ?? [];
  const flags = isMountedReadonly(record) && !asked.includes('ro') ? ['ro', ...asked] : asked;
  const given = new Set(flags.map(nameOf));
  return [...options.filter(option => !given.has(nameOf(option))), ...flags];
}

function nameOf(option: string): string {
  return option.split('=', 1)[0] ?? '';
}
