import { Problem } from '../../src/api/problem.ts';
import type { Agent } from './agent.ts';
import { isMountedReadonly } from './request-checks.ts';
import { runWell } from '../host/commands.ts';
import { shareConnectorFor } from '../connectors/index.ts';
import { mountsAt } from '../../src/lib/linux/mountinfo.ts';
import type { VolumeRecord } from '../state/records.ts';

/** Which group shall have a volume that is mounted at the path, for whom it is published, and whether for writing. */
export type GroupRequest = {
  readonly group: number;
  readonly targetPath: string;
  readonly readonly: boolean;
};

/** The root is changed last: once it has the group and these bits, all below it had its turn. */
const rootBits = 0o2770;

/** Reads a group's number; INVALID_ARGUMENT for anything else. */
export function readGroup(text: string): number {
  const group = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  // The largest number means "no change" to the kernel.
  if (group < 2 ** 32 - 1) return group;
  throw new Problem('INVALID_ARGUMENT', `volume_mount_group "${text}" is not the number of a group`);
}

/**
 * Lets a group read and write all files of a mounted volume, and own what is made there later. A volume whose root
 * has the group already is left as it is, and so is what kubelet's own default leaves alone: what is read-only, and
 * what several nodes may write. Commands do it, which end at their deadline; run again they go on where they stood.
 */
export async function giveToGroup(agent: Agent, record: VolumeRecord, request: GroupRequest): Promise<void> {
  const { host } = agent;
  const { stagingPath: path, volumeId, capability } = record;
  if (request.readonly || isMountedReadonly(record) || capability.accessType === 'block') return;
  if (shareConnectorFor(record.attachment) || capability.accessMode.startsWith('MULTI_NODE_')) return;
  const group = String(request.group);
  const { stdout } = await runWell(host, { command: 'stat', args: ['--format', '%g %f', '--', path] });
  const [owner, mode = ''] = stdout.trim().split(' ');
  if (owner === group && (Number.parseInt(mode, 16) & rootBits) === rootBits) return;
  const other = await findOther(agent, record, request.targetPath);
  if (other !== undefined)
    throw new Problem(
      'FAILED_PRECONDITION',
      `volume "${volumeId}" is published at "${other}" with its files owned by group ${owner}, and cannot be given to group ${group} meanwhile`,
    );
  await runWell(host, { command: 'find', args: [path, '-mindepth', '1', '-xdev', ...changes(group)] });
  await runWell(host, { command: 'chmod', args: ['ug+rwx,g+s', '--', path] });
  await runWell(host, { command: 'chgrp', args: ['--', group, path] });
}

/** Three changes in one walk. Links are changed themselves, never what they point at. */
function changes(group: string): readonly string[] {
  const own = ['!', '-gid', group, '-exec', 'chgrp', '--no-dereference', '--', group, '{}', '+'];
  const enter = ['-type', 'd', '!', '-perm', '-2770', ...chmod('ug+rwx,g+s')];
  const use = ['!', '-type', 'd', '!', '-type', 'l', '!', '-perm', '-0660', ...chmod('ug+rw')];
  return ['(', ...own, ')', ',', '(', ...enter, ')', ',', '(', ...use, ')'];
}

function chmod(mode: string): readonly string[] {
  return ['-exec', 'chmod', mode, '--', '{}', '+'];
}

/** Another path at which somebody may be working with the files. */
async function findOther(
  { host }: Agent,
  { targets }: VolumeRecord,
  path: string,
): Promise<string | undefined> {
  const mounts = await host.mounts();
  return targets.find(target => target.path !== path && mountsAt(mounts, target.path).length > 0)?.path;
}
