import { unavailableProblem } from '../../../src/api/problem.ts';
import { describeFailure, runToEnd } from '../../host/commands.ts';
import { findSeenUser } from '../../host/disk-use.ts';
import type { Host } from '../../host.ts';
import { readBacking, readLine, removeWith } from '../../host/sysfs.ts';

/** Detaches a device and returns once the device has another file or none. */
export async function detach(name: string, host: Host): Promise<void> {
  const readUse = async () => {
    const backing = await readBacking(`/sys/block/${name}`, host);
    return backing && `${await readLine(`/sys/block/${name}/diskseq`, host)}`;
  };
  const use = await readUse();
  if (use === undefined) return;
  const isThere = async () => (await readUse()) === use;
  const remove = async () => {
    const failure = await runDetach(name, host);
    if (failure !== undefined) throw unavailableProblem(failure);
  };
  // The kernel only marks a device in use and detaches it with its last user, which may be a short-lived one such as udev.
  await removeWith(remove, { what: `"/dev/${name}"`, isThere, findUser: () => findSeenUser(name, host) });
}

/**
 * Runs `losetup --detach` and returns its failure, if any. Does nothing for a device that is already marked to go with its
 * last user, since another file may have the device's name by the time of the command.
 */
export async function runDetach(name: string, host: Host): Promise<string | undefined> {
  if ((await readLine(`/sys/block/${name}/loop/autoclear`, host)) === '1') return undefined;
  const line = { command: 'losetup', args: ['--detach', `/dev/${name}`], mute: true };
  const result = await runToEnd(host, line);
  return result.status === 0 ? undefined : describeFailure(line, result);
}
