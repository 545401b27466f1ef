import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { isMountedReadonly } from '../volumes/request-checks.ts';
import { describeFailure, runToEnd, runWell } from '../host/commands.ts';
import { findOwnNumber, readSizeBytes, requireStillConnected, type DeviceVolume } from '../volumes/device.ts';
import type { Device } from '../connector.ts';
import type { CommandLine, Inspection, UnmountedTools } from '../filesystem.ts';
import { findFilesystem } from '../filesystems/index.ts';
import type { Host } from '../host.ts';
import { topMount } from '../../src/lib/linux/mountinfo.ts';
import type { Found } from './format.ts';

/** A volume that is connected, and the filesystem found on it. */
export type FoundVolume = DeviceVolume & { readonly device: Device; readonly found: Found };

/** A filesystem may be unable to use this much at the end of its device. */
const unusableBytes = 8 * 1024 * 1024;
/** The bit of CAP_SYS_RESOURCE in a process's capabilities (capabilities(7)). */
const sysResourceBit = 24n;
/** Who stages a volume waits for two minutes, mostly; a look for damage that takes longer has no result. */
const lookMs = 60_000;

/** Before the mount: mends and grows what is mended and grown unmounted; one that was seen to be right costs no command. */
export async function fitUnmounted(volume: FoundVolume): Promise<void> {
  const { agent, device, found } = volume;
  const tools = found.filesystem.unmounted;
  if (!tools || !needsLook(volume)) return;
  const { endBytes, slackBytes, hasErrors } = await inspect(volume, tools);
  if (device.sizeBytes - endBytes > slackBytes) {
    await mend(volume, tools.check(device.path));
    await requireStillConnected(volume, device);
    await runWell(agent.host, tools.grow(device.path));
  } else if (hasErrors) await mend(volume, tools.mend(device.path));
  remember(volume);
}

/** After the mount: grows a filesystem that is smaller than its device, where that is done mounted. */
export async function fitMounted(volume: FoundVolume): Promise<void> {
  const { agent, device, found, record } = volume;
  const { filesystem, endBytes } = found;
  if (filesystem.unmounted || device.sizeBytes < (filesystem.leastGrownBytes ?? 0)) return;
  if (!needsLook(volume)) return;
  if (endBytes === undefined || device.sizeBytes - endBytes > unusableBytes) {
    await requireStillConnected(volume, device);
    using directory = await agent.host.open(dirname(record.stagingPath));
    const line = filesystem.growMounted({ device: device.path, path: record.stagingPath });
    await runWell(agent.host, { ...line, opened: [directory] });
  }
  remember(volume);
}

/** Mends what the kernel refused to mount; throws the refusal where it cannot, FAILED_PRECONDITION for damage left. */
export async function mendAfterRefusal(volume: FoundVolume, refusal: unknown): Promise<void> {
  const { device, found, record } = volume;
  const tools = found.filesystem.unmounted;
  if (!tools) throw refusal;
  if (!isWritable(volume))
    throw unavailableProblem(
      `the filesystem of volume "${record.volumeId}" cannot be mounted, and what is read-only cannot be mended`,
    );
  await mend(volume, tools.mend(device.path));
}

/**
 * FAILED_PRECONDITION when a filesystem that the agent does not mend was refused by the kernel because it is damaged,
 * and UNAVAILABLE when its device does not read; returns when neither is seen. It is only read.
 */
export async function requireUndamaged(volume: FoundVolume): Promise<void> {
  const { agent, device, found, record } = volume;
  const { name, damage } = found.filesystem;
  if (!damage) return;
  const line = damage.look(device.path);
  const result = await agent.host.run(line.command, line.args, { timeoutMs: lookMs });
  const { status } = result;
  // One that is missing or was killed has seen nothing.
  if (status === undefined || status === 0) return;
  if (damage.undecided?.test(result.stdout + result.stderr)) return;
  // To a tool, what cannot be read is damaged as well.
  const start = ['bs=64K', 'count=1', 'iflag=direct', 'status=none'];
  await runWell(agent.host, { command: 'dd', args: [`if=${device.path}`, 'of=/dev/null', ...start] });
  await requireStillConnected(volume, device);
  throw preconditionProblem(
    `the ${name} of volume "${record.volumeId}" is damaged and needs a repair by hand (${damage.repair}): ${describeFailure(line, { ...result, status })}`,
  );
}

/** Grows a filesystem to its device while pods use it; FAILED_PRECONDITION when that waits for the next stage. */
export async function growInUse(volume: DeviceVolume, number: string): Promise<void> {
  const { agent, record } = volume;
  const { host } = agent;
  const { volumeId, stagingPath: path } = record;
  const mount = topMount(await host.mounts(), path);
  const filesystem = mount && findFilesystem(mount.type);
  if (!filesystem || (await findOwnNumber(volume, mount)) !== number)
    throw preconditionProblem(`volume "${volumeId}" is not mounted at "${path}"`);
  if (isMountedReadonly(record))
    throw preconditionProblem(
      `volume "${volumeId}" is mounted read-only, so that its filesystem cannot be grown; it is when it is next staged writable`,
    );
  using directory = await host.open(dirname(path));
  const line = filesystem.growMounted({ device: mount.source, path });
  const result = await runToEnd(host, { ...line, opened: [directory] });
  if (result.status === 0) return;
  const failure = describeFailure(line, result);
  const { name, growCapability, leastGrownBytes = 0 } = filesystem;
  if (growCapability && !(await maySetResources(host)))
    throw preconditionProblem(
      `the ${name} of volume "${volumeId}" cannot be grown while it is mounted, because the kernel asks for ${growCapability}, which the agent does not have; it is grown when it is next staged: ${failure}`,
    );
  if ((await readSizeBytes(number, host)) < leastGrownBytes)
    throw preconditionProblem(
      `the ${name} of volume "${volumeId}" cannot be grown to less than ${leastGrownBytes} bytes: ${failure}`,
    );
  throw unavailableProblem(failure);
}

function needsLook(volume: FoundVolume): boolean {
  const { agent, record, device, found } = volume;
  if (!isWritable(volume)) return false;
  // What was made just now, or by an mkfs that may have been cut off, was made as large as its device.
  if (found.isNew || record.formatting) return false;
  const { endBytes } = found;
  if (endBytes !== undefined && device.sizeBytes - endBytes > unusableBytes) return true;
  // A clone or a restore may take the place of the volume it was made from, with its id and its UUID.
  if (endBytes === undefined && !record.attachment.mayFormat) return true;
  const seen = agent.cache.full.get(record.volumeId);
  return !isDeepStrictEqual(seen, { uuid: found.uuid, sizeBytes: device.sizeBytes });
}

function isWritable({ record, device }: FoundVolume): boolean {
  return !device.readonly && !isMountedReadonly(record);
}

function remember({ agent, record, device, found: { uuid } }: FoundVolume): void {
  if (uuid !== undefined) agent.cache.setFull(record.volumeId, { uuid, sizeBytes: device.sizeBytes });
}

async function inspect({ agent, device }: FoundVolume, tools: UnmountedTools): Promise<Inspection> {
  const line = tools.inspect(device.path);
  const { stdout } = await runWell(agent.host, line);
  const inspection = tools.readInspection(stdout);
  if (!inspection)
    throw unavailableProblem(`"${line.command}" reports no size of what is on "${device.path}"`);
  return inspection;
}

async function mend(volume: FoundVolume, line: CommandLine): Promise<void> {
  await requireStillConnected(volume, volume.device);
  const result = await runToEnd(volume.agent.host, line);
  if ((result.status & ~3) === 0) return;
  const failure = describeFailure(line, result);
  if ((result.status & 4) === 0) throw unavailableProblem(failure);
  throw preconditionProblem(
    `the filesystem of volume "${volume.record.volumeId}" is damaged and needs a repair by hand: ${failure}`,
  );
}

async function maySetResources(host: Host): Promise<boolean> {
  const status = (await host.readText('/proc/self/status')) ?? '';
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
  return ((effective >> sysResourceBit) & 1n) === 1n;
}
