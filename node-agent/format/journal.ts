import { asProblem, preconditionProblem, type Problem } from '../../src/api/problem.ts';
import type { Device, Secrets } from '../connector.ts';
import { runIfInstalled, runToEnd } from '../host/commands.ts';
import { openDevice } from './opened.ts';
import { connectDevice, deviceMembers, requireStillConnected, type DeviceVolume } from '../volumes/device.ts';
import type { FoundVolume } from './fsck-and-grow.ts';
import { closeMapping } from './mapping.ts';

/** Timeout of the journal tool, which prints the whole log. */
const inspectMs = 60_000;
/** The options of a mount namespace that follows unmounts of other volumes, so that it does not keep them busy. */
const ownNamespace = ['--mount', '--propagation', 'slave'];

/**
 * Replays the journal for a reader, so that a mount shows all durable data, and returns the device. If the attachment allows
 * it, the device is connected for writing, mounted once, and connected read-only again, perhaps as another device.
 * FAILED_PRECONDITION if the journal must be replayed and the node may not write. If the tool cannot tell, the kernel decides:
 * it refuses to mount a read-only device with a dirty journal.
 */
export async function replayJournal(volume: FoundVolume, secrets: Secrets): Promise<Device> {
  const { device, record } = volume;
  if (!device.readonly || !(await needsReplay(volume))) return device;
  if (record.attachment.mayReplay !== true) throw uncleanProblem(volume);
  await mountOnceForWriting(volume, secrets);
  return connectAndOpen(volume, secrets);
}

/**
 * Closes the mapping of an encrypted volume of a reader, which may be open for writing if the agent was killed during a
 * replay. The volume must not be mounted.
 */
export async function closeWritableMapping({ agent, record }: DeviceVolume): Promise<void> {
  const { attachment } = record;
  if (attachment.mayReplay && attachment.encryption !== undefined) await closeMapping(attachment, agent.host);
}

async function needsReplay({ agent, device, found }: FoundVolume): Promise<boolean | undefined> {
  const { journal } = found.filesystem;
  const line = { timeoutMs: inspectMs, ...journal.inspect(device.path) };
  const result = await runIfInstalled(agent.host, line);
  return result?.status === 0 ? journal.needsReplay(result.stdout) : undefined;
}

/**
 * Makes the kernel replay the journal. The mount is in a mount namespace that ends with the mount command, so no mount is left
 * even if the agent is killed. A refused mount is not reported here, since the next mount reports it.
 */
async function mountOnceForWriting(volume: FoundVolume, secrets: Secrets): Promise<void> {
  const { agent, record, found } = volume;
  // The device holds a filesystem, so it must never be formatted.
  const attachment = { ...record.attachment, readonly: false, mayFormat: false };
  const writable = { ...volume, record: { ...record, attachment } };
  const { disconnect } = deviceMembers(writable);
  await disconnect();
  try {
    const device = await connectAndOpen(writable, secrets).catch((error: unknown) => {
      throw asProblem(error).code === 'FAILED_PRECONDITION' ? uncleanProblem(volume, error) : error;
    });
    await requireStillConnected(writable, device);
    const { name, mountOptions } = found.filesystem;
    const options = ['ro', ...mountOptions].join(',');
    const mount = ['mount', '--no-mtab', '-t', name, '-o', options, '--', device.path, agent.base.real];
    await runToEnd(agent.host, { command: 'unshare', args: [...ownNamespace, '--', ...mount] });
  } finally {
    await disconnect();
  }
}

async function connectAndOpen(volume: DeviceVolume, secrets: Secrets): Promise<Device> {
  const device = await connectDevice(volume, secrets);
  return (await openDevice(volume, { device }, secrets)).device;
}

function uncleanProblem({ record, found }: FoundVolume, cause?: unknown): Problem {
  return preconditionProblem(
    `volume "${record.volumeId}" was not unmounted cleanly; mount it once for writing: the journal of its ${found.filesystem.name} holds data that a reader would not see, and this node may not replay it`,
    cause,
  );
}
