import { dirname } from 'node:path';
import { topMount, type Mount } from '../../src/lib/linux/mountinfo.ts';
import type { Filesystem } from '../filesystem.ts';
import { findFilesystem } from '../filesystems/index.ts';
import { runIfInstalled } from '../host/commands.ts';
import type { Agent } from '../volumes/agent.ts';
import type { VolumeRecord } from '../state/records.ts';

/** An unfinished test change counts as blocked by a freeze after this time, in milliseconds. */
const changeMs = 500;

/**
 * Says whether the filesystem at a volume's staging path is frozen, so that all writes to it block until a thaw, and remembers
 * the answer for the metrics. A read-only mount counts as not frozen. The look takes as long as its command, which on a busy
 * machine can be seconds. Without `mayWait` the last answer is returned for filesystems that show a freeze only to a command
 * that blocks, and where a look would find the same.
 */
export async function isFrozen(agent: Agent, record: VolumeRecord, mayWait: boolean): Promise<boolean> {
  const { cache } = agent;
  const mount = topMount(await agent.host.mounts(), record.stagingPath);
  const filesystem = mount && !isReadonly(mount) ? findFilesystem(mount.type) : undefined;
  if (mount && filesystem && !mayWait && !(filesystem.freezing && (await isLookDue(agent, record, mount))))
    return cache.frozen.has(record.volumeId);
  const found = mount && filesystem ? await look({ agent, record, mount, filesystem }) : false;
  if (found) cache.frozen.add(record.volumeId);
  else cache.frozen.delete(record.volumeId);
  return found;
}

/**
 * False if a look would find that the filesystem is not frozen. A freeze writes to the device, and nothing is written while it
 * lasts. So a look is due only if nothing was written since the call before, and once for each such pause.
 */
async function isLookDue(
  { host, cache }: Agent,
  { volumeId }: VolumeRecord,
  { device }: Mount,
): Promise<boolean> {
  // The writes that the device has completed (Documentation/block/stat.rst).
  const writes = (await host.readText(`/sys/dev/block/${device}/stat`))?.trim().split(/ +/)[4];
  const { seen = writes, looked } = cache.writes.get(volumeId) ?? {};
  const isDue = writes === undefined || cache.frozen.has(volumeId) || (seen === writes && looked !== writes);
  cache.writes.set(volumeId, { seen: writes, looked: isDue ? writes : looked });
  return isDue;
}

export function describeFrozen({ volumeId }: VolumeRecord): string {
  return `the filesystem of volume "${volumeId}" is frozen: writes to it wait until it is thawed ("fsfreeze --unfreeze")`;
}

export function isReadonly({ options, superOptions }: Mount): boolean {
  return [...options, ...superOptions].some(option => option === 'ro' || option === 'emergency_ro');
}

type FreezeCheck = {
  readonly agent: Agent;
  readonly record: VolumeRecord;
  readonly mount: Mount;
  readonly filesystem: Filesystem;
};

async function look({ agent, record, mount, filesystem: { freezing } }: FreezeCheck): Promise<boolean> {
  if (!freezing) return waitsForThaw(agent, record);
  const { host } = agent;
  const { source, path } = mount;
  using directory = await host.open(dirname(path));
  const line = { ...freezing.inspect({ device: source, path }), opened: [directory] };
  const result = await runIfInstalled(host, line);
  return result?.status === 0 && freezing.isFrozen(result.stdout) === true;
}

/**
 * True if a change blocks in the kernel. The test change removes a directory that does not exist. A blocked command cannot be
 * killed and ends with the thaw; until then no second one is started.
 */
async function waitsForThaw(
  { host, cache }: Agent,
  { volumeId, stagingPath }: VolumeRecord,
): Promise<boolean> {
  if (cache.waiting.has(volumeId)) return true;
  using directory = await host.open(dirname(stagingPath));
  const missing = `${stagingPath}/.fairlead-${crypto.randomUUID()}`;
  const options = { opened: [directory], timeoutMs: changeMs, mayWait: true };
  const { gone } = await host.run('rmdir', ['--', missing], options);
  if (!gone) return false;
  cache.waiting.set(volumeId, gone);
  void gone.then(() => cache.waiting.delete(volumeId));
  return true;
}
