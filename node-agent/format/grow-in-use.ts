import { Problem } from '../../src/api/problem.ts';
import { topMount } from '../../src/lib/linux/mountinfo.ts';
import { findFilesystem } from '../filesystems/index.ts';
import type { Host } from '../host.ts';
import { describeFailure, runToEnd } from '../host/commands.ts';
import { findOwnNumber, readSizeBytes, type DeviceVolume } from '../volumes/device.ts';
import { isMountedReadonly } from '../volumes/request-checks.ts';

/** The bit of CAP_SYS_RESOURCE in a process's capabilities (capabilities(7)). */
const sysResourceBit = 24n;

/**
 * Grows the filesystem of a staged volume to its device, whose number is given, while pods use it. FAILED_PRECONDITION when
 * that can only be done when the volume is next staged.
 */
export async function growInUse(volume: DeviceVolume, number: string): Promise<void> {
  const { agent, record } = volume;
  const { host } = agent;
  const { volumeId, stagingPath: path } = record;
  const mount = topMount(await host.mounts(), path);
  const filesystem = mount && findFilesystem(mount.type);
  if (!filesystem || (await findOwnNumber(volume, mount)) !== number)
    throw new Problem('FAILED_PRECONDITION', `volume "${volumeId}" is not mounted at "${path}"`);
  if (isMountedReadonly(record))
    throw new Problem(
      'FAILED_PRECONDITION',
      `volume "${volumeId}" is mounted read-only, so that its filesystem cannot be grown; it is when it is next staged writable`,
    );
  const line = filesystem.growMounted({ device: mount.source, path });
  const result = await runToEnd(host, line);
  if (result.status === 0) return;
  const failure = describeFailure(line, result);
  const { name, growCapability, leastGrownBytes = 0 } = filesystem;
  if (growCapability && !(await maySetResources(host)))
    throw new Problem(
      'FAILED_PRECONDITION',
      `the ${name} of volume "${volumeId}" cannot be grown while it is mounted, because the kernel asks for ${growCapability}, which the agent does not have; it is grown when it is next staged: ${failure}`,
    );
  if ((await readSizeBytes(number, host)) < leastGrownBytes)
    throw new Problem(
      'FAILED_PRECONDITION',
      `the ${name} of volume "${volumeId}" cannot be grown to less than ${leastGrownBytes} bytes: ${failure}`,
    );
  throw new Problem('UNAVAILABLE', failure);
}

async function maySetResources(host: Host): Promise<boolean> {
  const status = (await host.readText('/proc/self/status')) ?? '';
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
  return ((effective >> sysResourceBit) & 1n) === 1n;
}
