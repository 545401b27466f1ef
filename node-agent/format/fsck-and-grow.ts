import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { preconditionProblem, unavailableProblem } from '../../src/api/problem.ts';
import { isMountedReadonly } from '../volumes/request-checks.ts';
import { describeFailure, runToEnd, runWell, type CommandResult } from '../host/commands.ts';
import { findOwnNumber, readSizeBytes, requireStillConnected, type DeviceVolume } from '../volumes/device.ts';
import { failureText } from '../../src/lib/exec.ts';
import type { Device } from '../connector.ts';
import type { Inspection, UnmountedTools } from '../filesystem.ts';
import { findFilesystem } from '../filesystems/index.ts';
import type { CommandLine, Host } from '../host.ts';
import { topMount } from '../../src/lib/linux/mountinfo.ts';
import type { FoundFilesystem } from './format.ts';
import { describeFrozen, isFrozen } from './frozen.ts';
import { failureOf, hasFailedToGrow, noteGrowthFault } from './growth-faults.ts';

export type FoundVolume = DeviceVolume & { readonly device: Device; readonly found: FoundFilesystem };

/** Maximum bytes at the end of its device that a filesystem may be unable to use. */
const unusableBytes = 8 * 1024 * 1024;
/** The bit of CAP_SYS_RESOURCE in a process's capabilities (capabilities(7)). */
const sysResourceBit = 24n;
/** Maximum time to look for damage, since callers of a stage usually wait two minutes; a longer look has no result. */
const damageLookMs = 60_000;

/**
 * Before the mount: repairs and grows a filesystem with tools for unmounted ones. A filesystem that is known to be in order
 * costs no command. One that does not grow keeps its old size.
 */
export async function fitUnmounted(volume: FoundVolume): Promise<void> {
  const { agent, device, found, record } = volume;
  const tools = found.filesystem.unmounted;
  if (found.isNew) agent.cache.growthFaults.delete(record.volumeId);
  if (!tools || !needsLook(volume)) return;
  let inspection: Inspection | undefined;
  const failure = await failureOf(inspect(volume, tools).then(result => (inspection = result)));
  if (!inspection) return noteGrowthFault(volume, failure ?? '');
  const { endBytes, slackBytes, hasErrors } = inspection;
  const isSmall = device.sizeBytes - endBytes > slackBytes;
  if (isSmall && !hasFailedToGrow(volume)) return growUnmounted(volume, tools, endBytes);
  if (hasErrors) await mend(volume, tools.mend(device.path));
  if (!isSmall) remember(volume);
}

/**
 * Grows a filesystem to its device. A failure to grow is only noted if the filesystem is sound; damage that cannot be
 * repaired is FAILED_PRECONDITION.
 */
async function growUnmounted(volume: FoundVolume, tools: UnmountedTools, endBytes: number): Promise<void> {
  const { agent, device } = volume;
  const { host } = agent;
  let failure = await tryToMend(volume, tools.check(device.path));
  await requireStillConnected(volume, device);
  const lines = tools.grow(device, endBytes);
  for (const line of lines) failure ??= await failureOf(runWell(host, line));
  if (failure === undefined) return remember(volume);
  noteGrowthFault(volume, failure);
  // An interrupted growth may have left errors, and no pod may write to a filesystem with errors.
  const { hasErrors } = await inspect(volume, tools);
  if (hasErrors) await mend(volume, tools.mend(device.path));
}

/** After the mount: grows a filesystem that can only grow while mounted. One that does not grow keeps its old size. */
export async function fitMounted(volume: FoundVolume): Promise<void> {
  const { agent, device, found, record } = volume;
  const { filesystem, endBytes } = found;
  if (filesystem.unmounted || device.sizeBytes < (filesystem.minGrownBytes ?? 0)) return;
  if (!needsLook(volume)) return;
  if (endBytes === undefined || isSmaller(volume)) {
    await requireStillConnected(volume, device);
    using directory = await agent.host.open(dirname(record.stagingPath));
    const line = filesystem.growMounted({ device: device.path, path: record.stagingPath });
    const failure = await failureOf(runWell(agent.host, { ...line, opened: [directory] }));
    if (failure !== undefined) return noteGrowthFault(volume, failure);
  }
  remember(volume);
}

/**
 * Repairs a filesystem that the kernel refused to mount. Throws the refusal if there are no tools for that, and
 * FAILED_PRECONDITION if damage is left.
 */
export async function mendAfterRefusal(volume: FoundVolume, refusal: unknown): Promise<void> {
  const { device, found, record } = volume;
  const tools = found.filesystem.unmounted;
  if (!tools) throw refusal;
  if (!isWritable(volume))
    throw unavailableProblem(
      `the filesystem of volume "${record.volumeId}" cannot be mounted, and a read-only volume cannot be repaired; stage it for writing once`,
    );
  await mend(volume, tools.mend(device.path));
}

/**
 * After a refused mount: FAILED_PRECONDITION if a filesystem that the agent does not repair is damaged, and UNAVAILABLE if
 * its device cannot be read; otherwise returns. Only reads the device.
 */
export async function requireUndamaged(volume: FoundVolume): Promise<void> {
  const { agent, device, found, record } = volume;
  const { name, damage } = found.filesystem;
  if (!damage) return;
  const line = damage.look(device.path);
  const result = await agent.host.run(line.command, line.args, { timeoutMs: damageLookMs });
  const { status } = result;
  // A tool that is missing or was killed has no result.
  if (status === undefined || status === 0) return;
  if (damage.undecided?.test(result.stdout + result.stderr)) return;
  // The tool also reports an unreadable device as damaged, so try to read it.
  const start = ['bs=64K', 'count=1', 'iflag=direct', 'status=none'];
  await runWell(agent.host, { command: 'dd', args: [`if=${device.path}`, 'of=/dev/null', ...start] });
  await requireStillConnected(volume, device);
  throw preconditionProblem(
    `the ${name} of volume "${record.volumeId}" is damaged and needs a repair by hand (${damage.repair}): ${describeFindings(line, { ...result, status })}`,
  );
}

/** Grows a filesystem to its device while pods use it; FAILED_PRECONDITION if only the next stage can grow it. */
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
      `volume "${volumeId}" is mounted read-only, so its filesystem cannot grow; it grows when the volume is next staged for writing`,
    );
  // The command to grow it would block until the thaw and could not be killed.
  if (await isFrozen(agent, record, true)) throw unavailableProblem(describeFrozen(record));
  using directory = await host.open(dirname(path));
  const line = filesystem.growMounted({ device: mount.source, path });
  const result = await runToEnd(host, { ...line, opened: [directory] });
  const known = agent.cache.growthFaults.get(volumeId);
  if (result.status === 0) return void agent.cache.growthFaults.delete(volumeId);
  const failure = describeFailure(line, result);
  const { name, growCapability, minGrownBytes = 0 } = filesystem;
  if (growCapability && !(await maySetResources(host))) {
    // The last stage failed to grow it too, so the next one will not help.
    if (known) throw preconditionProblem(known.message);
    throw preconditionProblem(
      `the ${name} of volume "${volumeId}" cannot grow while it is mounted, because the kernel requires ${growCapability}, which the agent does not have; it grows when the volume is next staged: ${failure}`,
    );
  }
  if ((await readSizeBytes(number, host)) < minGrownBytes)
    throw preconditionProblem(
      `the ${name} of volume "${volumeId}" cannot grow to less than ${minGrownBytes} bytes; expand the volume further: ${failure}`,
    );
  throw unavailableProblem(failure);
}

function needsLook(volume: FoundVolume): boolean {
  const { agent, record, device, found } = volume;
  if (!isWritable(volume)) return false;
  // A filesystem from this call or from an interrupted mkfs is as large as its device.
  if (found.isNew || record.formatting) return false;
  const { endBytes } = found;
  if (isSmaller(volume)) return true;
  // A clone or a restore may have replaced its source, with the same volume id and UUID.
  if (endBytes === undefined && !record.attachment.mayFormat) return true;
  const seen = agent.cache.full.get(record.volumeId);
  return !isDeepStrictEqual(seen, { uuid: found.uuid, sizeBytes: device.sizeBytes });
}

function isSmaller({ device, found: { endBytes } }: FoundVolume): boolean {
  return endBytes !== undefined && device.sizeBytes - endBytes > unusableBytes;
}

function isWritable({ record, device }: FoundVolume): boolean {
  return !device.readonly && !isMountedReadonly(record);
}

function remember({ agent, record, device, found: { uuid } }: FoundVolume): void {
  const { full, growthFaults } = agent.cache;
  growthFaults.delete(record.volumeId);
  if (uuid !== undefined) full.set(record.volumeId, { uuid, sizeBytes: device.sizeBytes });
}

async function inspect({ agent, device }: FoundVolume, tools: UnmountedTools): Promise<Inspection> {
  const line = tools.inspect(device.path);
  const { stdout } = await runWell(agent.host, line);
  const inspection = tools.readInspection(stdout);
  if (!inspection)
    throw unavailableProblem(
      `"${line.command}" does not report the size of the filesystem on "${device.path}"`,
    );
  return inspection;
}

async function mend(volume: FoundVolume, line: CommandLine): Promise<void> {
  const failure = await tryToMend(volume, line);
  if (failure !== undefined) throw unavailableProblem(failure);
}

/** Repairs a filesystem and says why that failed, if it did; FAILED_PRECONDITION if damage is left. */
async function tryToMend(volume: FoundVolume, line: CommandLine): Promise<string | undefined> {
  await requireStillConnected(volume, volume.device);
  let result: CommandResult | undefined;
  const runFailure = await failureOf(runToEnd(volume.agent.host, line).then(ended => (result = ended)));
  if (!result) return runFailure;
  if ((result.status & ~3) === 0) return undefined;
  const failure = describeFindings(line, result);
  if ((result.status & 4) === 0) return failure;
  throw preconditionProblem(
    `the filesystem of volume "${volume.record.volumeId}" is damaged and needs a repair by hand: ${failure}`,
  );
}

/** Describes a failure like `describeFailure`, but from standard output if standard error is empty. */
function describeFindings(line: CommandLine, result: CommandResult): string {
  const { stdout, stderr } = result;
  return describeFailure(line, { ...result, stderr: failureText(stderr) === '' ? stdout : stderr });
}

async function maySetResources(host: Host): Promise<boolean> {
  const status = (await host.readText('/proc/self/status')) ?? '';
  const effective = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'}`);
  return ((effective >> sysResourceBit) & 1n) === 1n;
}
