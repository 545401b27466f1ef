import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../src/api/problem.ts';
import type { Agent } from './agent.ts';
import { isMountedReadonly } from './request-checks.ts';
import { describeFailure, runToEnd } from '../host/commands.ts';
import { deviceConnectorFor } from '../connectors/index.ts';
import { findFilesystem } from '../filesystems/index.ts';
import type { Host } from '../host.ts';
import { locate, readSizeBytes, type PathOfVolume } from './locate.ts';
import { ownNumber } from './ownership.ts';
import { topMount } from '../../src/lib/linux/mountinfo.ts';
import type { VolumeRecord } from '../state/records.ts';

/** Which volume, at which of its paths, and the size that is asked for; 0 where nothing is. */
export type ExpandRequest = PathOfVolume & { readonly requiredBytes: number; readonly limitBytes: number };

/** A volume and the number of its device. */
type OnDevice = { readonly record: VolumeRecord; readonly number: string };

const sizeTries = 20;
const sizePauseMs = 100;
/** The bit of CAP_SYS_RESOURCE in a process's capabilities (capabilities(7)). */
const sysResourceBit = 24n;

/**
 * Makes what the volume's device has gained usable, and returns the device's size in bytes. The size is observed:
 * while the device is still smaller than asked it is UNAVAILABLE. Run again it changes nothing.
 */
export async function expand(agent: Agent, request: ExpandRequest): Promise<number> {
  const { requiredBytes, limitBytes, volumeId } = request;
  const { record, number } = await locate(agent, { ...request, isAlone: true });
  // A share has all the room that its server gives it.
  if (number === undefined) return Math.max(requiredBytes, record.attachment.sizeBytes);
  const volume = { record, number };
  const sizeBytes = await growDevice(agent, volume, requiredBytes);
  if (limitBytes > 0 && sizeBytes > limitBytes)
    throw new Problem(
      'OUT_OF_RANGE',
      `volume "${volumeId}" has ${sizeBytes} bytes, more than the limit of ${limitBytes}, and does not shrink`,
    );
  if (record.capability.accessType === 'mount') await growFilesystem(agent, volume);
  return sizeBytes;
}

/** Has the kernel see the device's new size, and waits for it. */
async function growDevice(
  agent: Agent,
  { record, number }: OnDevice,
  requiredBytes: number,
): Promise<number> {
  const { attachment, volumeId } = record;
  const connector = deviceConnectorFor(attachment);
  const before = await readSizeBytes(agent, number);
  if (requiredBytes > 0 && before >= requiredBytes) return before;
  await connector.rescan?.(attachment, agent.host);
  for (let tries = 1; ; tries++) {
    const sizeBytes = await readSizeBytes(agent, number);
    if (sizeBytes >= requiredBytes) return sizeBytes;
    if (tries === sizeTries)
      throw new Problem(
        'UNAVAILABLE',
        `the device of volume "${volumeId}" has ${sizeBytes} bytes and not yet the ${requiredBytes} asked for`,
      );
    await sleep(sizePauseMs);
  }
}

async function growFilesystem({ host }: Agent, { record, number }: OnDevice): Promise<void> {
  const { volumeId, stagingPath: path } = record;
  const mount = topMount(await host.mounts(), path);
  const filesystem = mount && findFilesystem(mount.type);
  if (!filesystem || (await ownNumber(mount, record, host)) !== number)
    throw new Problem('FAILED_PRECONDITION', `volume "${volumeId}" is not mounted at "${path}"`);
  if (isMountedReadonly(record))
    throw new Problem(
      'FAILED_PRECONDITION',
      `volume "${volumeId}" is mounted read-only, so that its filesystem cannot be grown; it is when it is next staged writable`,
    );
  const line = filesystem.growMounted({ device: mount.source, path });
  const result = await runToEnd(host, line);
  if (result.status === 0) return;
  if (filesystem.growCapability && !(await maySetResources(host)))
    throw new Problem(
      'FAILED_PRECONDITION',
      `the ${filesystem.name} of volume "${volumeId}" cannot be grown while it is mounted, because the kernel asks for ${filesystem.growCapability}, which the agent does not have; it is grown when it is next staged: ${describeFailure(line, result)}`,
    );
  const { leastGrownBytes = 0 } = filesystem;
  if ((await readSizeBytes({ host }, number)) < leastGrownBytes)
    throw new Problem(
      'FAILED_PRECONDITION',
      `the ${filesystem.name} of volume "${volumeId}" cannot be grown to less than ${leastGrownBytes} bytes: ${describeFailure(line, result)}`,
    );
  throw new Problem('UNAVAILABLE', describeFailure(line, result));
}

async function maySetResources(host: Host): Promise<boolean> {
  const status = (await host.readText('/proc/self/status')) ?? '';
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
  return ((effective >> sysResourceBit) & 1n) === 1n;
}
