import { Problem } from '../../src/api/problem.ts';
import type { Agent } from '../volumes/agent.ts';
import { isMountedReadonly } from '../volumes/request-checks.ts';
import { describeFailure, runToEnd, runWell } from '../host/commands.ts';
import { isStillConnected } from '../volumes/device.ts';
import type { Device } from '../connector.ts';
import type { CommandLine, Inspection, UnmountedTools } from '../filesystem.ts';
import type { Found } from './format.ts';
import type { VolumeRecord } from '../state/records.ts';

/** A volume that is connected, and the filesystem found on it. */
export type FoundVolume = { readonly record: VolumeRecord; readonly device: Device; readonly found: Found };

/** A filesystem may be unable to use this much at the end of its device. */
const unusableBytes = 8 * 1024 * 1024;

/**
 * Before the mount: mends a filesystem that asks for it, and grows one that is smaller than its device, where that
 * is done unmounted. Costs no command for a volume that was seen to be right.
 */
export async function fitUnmounted(agent: Agent, volume: FoundVolume): Promise<void> {
  const { device, found } = volume;
  const tools = found.filesystem.unmounted;
  if (!tools || !needsLook(agent, volume)) return;
  const { endBytes, slackBytes, hasErrors } = await inspect(agent, volume, tools);
  if (device.sizeBytes - endBytes > slackBytes) {
    await mend(agent, volume, tools.check(device.path));
    await requireOwn(agent, volume);
    await runWell(agent.host, tools.grow(device.path));
  } else if (hasErrors) await mend(agent, volume, tools.mend(device.path));
  remember(agent, volume);
}

/** After the mount: grows a filesystem that is smaller than its device, where that is done mounted. */
export async function fitMounted(agent: Agent, volume: FoundVolume): Promise<void> {
  const { device, found, record } = volume;
  const { filesystem, endBytes } = found;
  if (filesystem.unmounted || device.sizeBytes < (filesystem.leastGrownBytes ?? 0)) return;
  if (!needsLook(agent, volume)) return;
  if (endBytes === undefined || device.sizeBytes - endBytes > unusableBytes) {
    await requireOwn(agent, volume);
    await runWell(agent.host, filesystem.growMounted({ device: device.path, path: record.stagingPath }));
  }
  remember(agent, volume);
}

/** Runs the check that a mount which failed asks for; FAILED_PRECONDITION when it leaves damage that needs a person. */
export async function mendAfterRefusal(agent: Agent, volume: FoundVolume): Promise<void> {
  const { device, found, record } = volume;
  const tools = found.filesystem.unmounted;
  if (!tools || !isWritable(volume))
    throw new Problem(
      'UNAVAILABLE',
      `the filesystem of volume "${record.volumeId}" cannot be mounted, and what is read-only cannot be mended`,
    );
  await mend(agent, volume, tools.mend(device.path));
}

/**
 * FAILED_PRECONDITION when a filesystem that the agent does not mend was refused by the kernel because it is damaged,
 * and UNAVAILABLE when its device does not read; returns when neither is seen. It is only read.
 */
export async function requireUndamaged(agent: Agent, volume: FoundVolume): Promise<void> {
  const { device, found, record } = volume;
  const { name, damage } = found.filesystem;
  if (!damage) return;
  const line = damage.look(device.path);
  const result = await agent.host.run(line.command, line.args, { timeoutMs: line.timeoutMs });
  const { status } = result;
  // One that is missing or was killed has seen nothing.
  if (status === undefined || status === 0) return;
  if (damage.undecided?.test(result.stdout + result.stderr)) return;
  // To a tool, what cannot be read is damaged as well.
  const start = ['bs=64K', 'count=1', 'iflag=direct', 'status=none'];
  await runWell(agent.host, { command: 'dd', args: [`if=${device.path}`, 'of=/dev/null', ...start] });
  await requireOwn(agent, volume);
  throw new Problem(
    'FAILED_PRECONDITION',
    `the ${name} of volume "${record.volumeId}" is damaged and needs a repair by hand (${damage.repair}): ${describeFailure(line, { ...result, status })}`,
  );
}

function needsLook({ cache }: Agent, volume: FoundVolume): boolean {
  const { record, device, found } = volume;
  if (!isWritable(volume)) return false;
  // What was made just now, or by an mkfs that may have been cut off, was made as large as its device.
  if (found.isNew || record.formatting) return false;
  const { endBytes } = found;
  if (endBytes !== undefined && device.sizeBytes - endBytes > unusableBytes) return true;
  // A clone or a restore may take the place of the volume it was made from, with its id and its UUID.
  if (endBytes === undefined && !record.attachment.mayFormat) return true;
  return !cache.isFull(record.volumeId, { uuid: found.uuid, sizeBytes: device.sizeBytes });
}

function isWritable({ record, device }: FoundVolume): boolean {
  return !device.readonly && !isMountedReadonly(record);
}

function remember({ cache }: Agent, { record, device, found }: FoundVolume): void {
  cache.setFull(record.volumeId, { uuid: found.uuid, sizeBytes: device.sizeBytes });
}

async function inspect({ host }: Agent, volume: FoundVolume, tools: UnmountedTools): Promise<Inspection> {
  const { device } = volume;
  const line = tools.inspect(device.path);
  const { stdout } = await runWell(host, line);
  const inspection = tools.readInspection(stdout);
  if (!inspection)
    throw new Problem('UNAVAILABLE', `"${line.command}" reports no size of what is on "${device.path}"`);
  return inspection;
}

async function mend(agent: Agent, volume: FoundVolume, line: CommandLine): Promise<void> {
  await requireOwn(agent, volume);
  const result = await runToEnd(agent.host, line);
  if ((result.status & ~3) === 0) return;
  const isDamaged = (result.status & 4) !== 0;
  throw new Problem(
    isDamaged ? 'FAILED_PRECONDITION' : 'UNAVAILABLE',
    isDamaged
      ? `the filesystem of volume "${volume.record.volumeId}" is damaged and needs a repair by hand: ${describeFailure(line, result)}`
      : describeFailure(line, result),
  );
}

/** Nothing is written to a device unless it is still the volume's. */
async function requireOwn({ host }: Agent, { record, device }: FoundVolume): Promise<void> {
  const { attachment, volumeId } = record;
  if (await isStillConnected(attachment, device, host)) return;
  throw new Problem('UNAVAILABLE', `device "${device.path}" is no longer volume "${volumeId}"`);
}
