import { Problem } from '../../src/api/problem.ts';
import type { Agent } from './agent.ts';
import { isMountedReadonly } from './request-checks.ts';
import { runWell } from '../host/commands.ts';
import type { Share, ShareConnector } from '../connector.ts';
import type { Protocol } from '../../src/api/attachment.ts';
import { topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import { describe, unmountAll } from '../host/mount.ts';
import { contextDropped, hasContext } from '../host/selinux.ts';
import type { VolumeRecord } from '../state/records.ts';

/** Flags that mountinfo shows for a mount as they were given. */
const visibleFlags: ReadonlySet<string> = new Set([
  'ro',
  'nosuid',
  'nodev',
  'noexec',
  'noatime',
  'nodiratime',
]);

/**
 * Mounts a recorded volume that is a share at its staging path, and returns once mountinfo shows it there, as it was
 * asked for. What is there instead is taken down again.
 */
export async function mountShare(
  agent: Agent,
  record: VolumeRecord,
  connector: ShareConnector<Protocol>,
): Promise<void> {
  const { host } = agent;
  const { attachment, stagingPath: path, volumeId } = record;
  const share = await connector.connect(attachment, host);
  await runWell(host, { command: 'mount', args: [...mountArgs(share, record), '--', share.source, path] });
  const mount = topMount(await host.mounts(), path);
  if (!mount) throw new Problem('UNAVAILABLE', `nothing is mounted at "${path}" after mount succeeded`);
  const isOwn = (await connector.judge(attachment, mount, host)) === 'own';
  if (isOwn && isAsAsked(mount, record)) return;
  await unmountAll(agent, path);
  if (isOwn && !hasContext(mount, record.capability)) throw await contextDropped(volumeId, host);
  throw new Problem(
    'UNAVAILABLE',
    `${describe(mount)} was at "${path}" after volume "${volumeId}" was mounted there`,
  );
}

/** True when the mount has the flags that the record asks for: a bind that was cut short may lack them. */
export function isAsAsked(mount: Mount, record: VolumeRecord): boolean {
  const { options } = mount;
  if (!hasContext(mount, record.capability)) return false;
  const wanted = flagsOf(record).filter(flag => visibleFlags.has(flag));
  return wanted.every(flag => options.includes(flag)) && options.includes('ro') === isMountedReadonly(record);
}

function mountArgs({ type, options }: Share, record: VolumeRecord): readonly string[] {
  const flags = flagsOf(record);
  const given = new Set(flags.map(nameOf));
  const all = [...options.filter(option => !given.has(nameOf(option))), ...flags];
  return [...(type === undefined ? [] : ['-t', type]), '-o', all.join(',')];
}

function flagsOf(record: VolumeRecord): readonly string[] {
  const flags = record.capability.mountFlags ?? [];
  return isMountedReadonly(record) && !flags.includes('ro') ? ['ro', ...flags] : flags;
}

function nameOf(option: string): string {
  return option.split('=', 1)[0] ?? '';
}
