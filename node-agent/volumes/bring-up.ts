import { asProblem, Problem } from '../../src/api/problem.ts';
import type { Agent } from './agent.ts';
import { readFilesystem } from './request-checks.ts';
import { connectDevice, findHolder, isStillConnected } from './connected.ts';
import { shareConnectorFor } from '../connectors/index.ts';
import type { Device } from '../connector.ts';
import { findFilesystem } from '../filesystems/index.ts';
import {
  fitMounted,
  fitUnmounted,
  mendAfterRefusal,
  refuseDamaged,
  type FoundVolume,
} from '../format/fsck-and-grow.ts';
import { ensureFilesystem, type Found } from '../format/format.ts';
import type { Mount } from '../../src/lib/linux/mountinfo.ts';
import { checkFlags } from './mount-flags.ts';
import { deviceNumberOf, mountAndSee, unmountAll } from '../host/mount.ts';
import { inPhase } from '../host/phases.ts';
import type { VolumeRecord } from '../state/records.ts';
import { contextDropped, hasContext } from '../host/selinux.ts';
import type { Secrets } from './secrets.ts';
import { mountShare } from './share.ts';

/** Whether the directory to mount at is missing, and what of the call is in no record. */
export type Bringing = { readonly isMissing: boolean; readonly secrets: Secrets | undefined };

/**
 * Connects a recorded volume and, unless it is a block volume, mounts it at its staging path, as large as its
 * device; a share is mounted as it is. The directory there is made where it is missing.
 */
export async function bringUp(
  agent: Agent,
  record: VolumeRecord,
  { isMissing, secrets }: Bringing,
): Promise<void> {
  const { host, records } = agent;
  const sharing = shareConnectorFor(record.attachment);
  if (sharing) {
    if (isMissing) await host.makeDirectory(record.stagingPath);
    await inPhase(agent, 'mount', () => mountShare(agent, record, sharing));
    return;
  }
  const device = await inPhase(agent, 'connect', () => connectDevice(record.attachment, host, secrets));
  await refuseHeld(agent, { ...record, device });
  if (record.capability.accessType === 'mount') {
    const found = await inPhase(agent, 'format', () => prepareFilesystem(agent, record, device));
    const volume = { record, device, found };
    await inPhase(agent, 'fit', () => fitUnmounted(agent, volume));
    if (isMissing) await host.makeDirectory(record.stagingPath);
    await inPhase(agent, 'mount', () => mountProved(agent, volume)).catch(error =>
      explainUnfinished(agent, record, error),
    );
    await inPhase(agent, 'fit', () => fitMounted(agent, volume));
  }
  const { formatting, ...rest } = record;
  // What an mkfs left may not be made again once a workload can have written to the raw device.
  if (formatting && record.capability.accessType === 'block') await records.put(rest);
  records.keep({ ...rest, device });
}

/** Refuses a device that another volume has under another name, and forgets the record: the device is the other's. */
async function refuseHeld(agent: Agent, record: VolumeRecord & { readonly device: Device }): Promise<void> {
  const { volumeId, device } = record;
  const isDone = agent.records.get(volumeId)?.device?.number === device.number;
  const holder = isDone ? undefined : await findHolder(agent, record);
  if (holder === undefined) return;
  await agent.records.remove(volumeId);
  throw isOneDevice(volumeId, holder);
}

/** One device under two ids would be formatted, grown and disconnected by both. */
export function isOneDevice(volumeId: string, holder: string): Problem {
  return new Problem(
    'FAILED_PRECONDITION',
    `the device of volume "${volumeId}" is the one of volume "${holder}", which is staged here`,
  );
}

/** Does what `bringUp` does after the mount, for a volume that is mounted already with a filesystem of that type. */
export async function finishMounted(
  agent: Agent,
  record: VolumeRecord,
  { type, secrets }: { readonly type: string; readonly secrets: Secrets | undefined },
): Promise<void> {
  const { host, records } = agent;
  const device = await inPhase(agent, 'connect', () => connectDevice(record.attachment, host, secrets));
  const filesystem = findFilesystem(type);
  if (filesystem) await fitMounted(agent, { record, device, found: { filesystem, isNew: false } });
  records.keep({ ...record, device });
}

async function prepareFilesystem(agent: Agent, record: VolumeRecord, device: Device): Promise<Found> {
  const { host, records, defaultFilesystem } = agent;
  const { attachment, capability, formatOptions, formatting } = record;
  const found = await ensureFilesystem({
    host,
    device,
    attachment,
    wanted: readFilesystem(capability),
    fallback: defaultFilesystem,
    options: formatOptions,
    mark: formatting,
    setMark: mark => records.put({ ...record, formatting: mark }),
  });
  checkFlags(capability.mountFlags ?? [], found.filesystem);
  return found;
}

/** Mounts, and looks once more at what is mounted then: it keeps its number, so that this is the last word on it. */
async function mountProved(agent: Agent, volume: FoundVolume): Promise<void> {
  const { record, device } = volume;
  const { attachment, capability, stagingPath, volumeId } = record;
  const mount = await mountMended(agent, volume);
  const isOwn = await isStillConnected(attachment, device, agent.host);
  if (isOwn && hasContext(mount, capability)) return;
  await unmountAll(agent, stagingPath);
  if (isOwn) throw await contextDropped(volumeId, agent.host);
  throw new Problem(
    'UNAVAILABLE',
    `device "${device.path}" was no longer volume "${volumeId}" when it was mounted`,
  );
}

/** Mounts; a mount that is refused is tried once more after the check of a filesystem that the agent mends. */
async function mountMended(agent: Agent, volume: FoundVolume): Promise<Mount> {
  try {
    return await mountDevice(agent, volume);
  } catch (error) {
    const { record, device, found } = volume;
    const isRefused = error instanceof Problem && error.code === 'UNAVAILABLE';
    const mounts = await agent.host.mounts();
    if (!isRefused || mounts.some(mount => mount.device === device.number)) throw error;
    if (await hasTwin(agent, volume))
      throw new Problem(
        'FAILED_PRECONDITION',
        `volume "${record.volumeId}" holds a ${found.filesystem.name} with the UUID of one that is mounted on this node, such as a clone's source, and this kernel does not mount both`,
        error,
      );
    if (record.formatting) throw error;
    await refuseDamaged(agent, volume);
    if (!found.filesystem.unmounted) throw error;
    await mendAfterRefusal(agent, volume);
    return mountDevice(agent, volume);
  }
}

async function hasTwin({ host }: Agent, { found }: FoundVolume): Promise<boolean> {
  const { filesystem, uuid } = found;
  if (uuid === undefined || !filesystem.twinDirectory) return false;
  return (await host.list(filesystem.twinDirectory(uuid))).length > 0;
}

async function mountDevice(agent: Agent, { record, device, found }: FoundVolume): Promise<Mount> {
  const { host } = agent;
  const { filesystem } = found;
  const { attachment, capability, stagingPath: path, volumeId } = record;
  if (!(await isStillConnected(attachment, device, host)))
    throw new Problem('UNAVAILABLE', `device "${device.path}" is no longer volume "${volumeId}"`);
  const options = [
    ...filesystem.mountOptions,
    ...(attachment.readonly ? ['ro', ...filesystem.readonlyOptions] : []),
    ...(capability.mountFlags ?? []),
  ];
  const args = ['-t', filesystem.name, ...(options.length > 0 ? ['-o', options.join(',')] : [])];
  return mountAndSee(host, [...args, '--', device.path, path], {
    path,
    shows: async mount => (await deviceNumberOf(mount, host)) === device.number,
  });
}

/** Puts back the mark that was cleared for a mount that failed, and says what the mark means for it. */
async function explainUnfinished({ records }: Agent, record: VolumeRecord, error: unknown): Promise<never> {
  if (!record.formatting) throw error;
  await records.put(record);
  throw new Problem(
    'UNAVAILABLE',
    `${asProblem(error).detail}; an mkfs of volume "${record.volumeId}" was interrupted and may have left it unfinished: wipe the device to have it made again`,
    error,
  );
}
