import type { Protocol } from '../../../src/api/attachment.ts';
import { unavailableProblem } from '../../../src/api/problem.ts';
import { topMount, type Mount } from '../../../src/lib/linux/mountinfo.ts';
import type { Share, ShareConnector } from '../../connector.ts';
import { runWell } from '../../host/commands.ts';
import { describe, unmountAll } from '../../host/mount.ts';
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
    requireUsable: () => requireShareUsable(record, connector),
    async connect() {
      const share = await inPhase(agent, 'connect', () => connector.connect(attachment, host));
      return {
        prepare: async () => () => inPhase(agent, 'mount', () => mountShare(agent, record, { share, judge })),
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

type Mounting = { readonly share: Share; readonly judge: Carrier['judge'] };

/** Mounts the share at its staging path, until mountinfo shows it there as it was asked for; anything else is unmounted. */
async function mountShare(agent: Agent, record: VolumeRecord, { share, judge }: Mounting): Promise<void> {
  const { host } = agent;
  const { capability, stagingPath: path, volumeId } = record;
  await runWell(host, { command: 'mount', args: [...mountArgs(share, record), '--', share.source, path] });
  const mount = topMount(await host.mounts(), path);
  if (!mount) throw unavailableProblem(`nothing is mounted at "${path}" after mount succeeded`);
  const isOwn = (await judge(mount)) === 'own';
  if (isOwn && isAsAsked(mount, record)) return;
  await unmountAll(agent, path);
  if (isOwn && !hasContext(mount, capability)) throw await contextDroppedProblem(volumeId, host);
  throw unavailableProblem(
    `${describe(mount)} was at "${path}" after volume "${volumeId}" was mounted there`,
  );
}

function mountArgs({ type, options }: Share, record: VolumeRecord): readonly string[] {
  const asked = record.capability.mountFlags ?? [];
  const flags = isMountedReadonly(record) && !asked.includes('ro') ? ['ro', ...asked] : asked;
  const given = new Set(flags.map(nameOf));
  const all = [...options.filter(option => !given.has(nameOf(option))), ...flags];
  return [...(type === undefined ? [] : ['-t', type]), '-o', all.join(',')];
}

function nameOf(option: string): string {
  return option.split('=', 1)[0] ?? '';
}
