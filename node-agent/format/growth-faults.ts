import { Problem } from '../../src/api/problem.ts';
import type { Agent } from '../volumes/agent.ts';
import type { VolumeFault } from '../volumes/carrier.ts';
import type { Device } from '../connector.ts';
import type { VolumeRecord } from '../state/records.ts';
import type { FoundFilesystem } from './format.ts';

/** Pause before a failed growth is tried again, since a try may take minutes and delay a pod. */
const retryMs = 60 * 60_000;

type SmallVolume = {
  readonly agent: Agent;
  readonly record: VolumeRecord;
  readonly device: Device;
  readonly found: FoundFilesystem;
};

/** Waits for a step of a growth and says why it failed, if it did. Throws if a command may still be running. */
export async function failureOf(step: Promise<unknown>): Promise<string | undefined> {
  try {
    await step;
    return undefined;
  } catch (error) {
    if (!(error instanceof Problem) || error.code === 'DEADLINE_EXCEEDED') throw error;
    return error.detail;
  }
}

/** Remembers that a filesystem was not grown or could not be inspected, and logs it once. */
export function noteGrowthFault({ agent, record, device, found }: SmallVolume, failure: string): void {
  const { volumeId } = record;
  const { uuid, filesystem } = found;
  const { sizeBytes } = device;
  const message = `the ${filesystem.name} of volume "${volumeId}" may not fill the ${sizeBytes} bytes of its device: ${failure}`;
  const isKnown = agent.cache.growthFaults.get(volumeId)?.message === message;
  agent.cache.growthFaults.set(volumeId, { uuid, sizeBytes, message, retryAtMs: Date.now() + retryMs });
  if (!isKnown) agent.log.warn('a filesystem is mounted at its old size', { volumeId, detail: message });
}

/** True if growing the filesystem to this size of its device failed within the last hour. */
export function hasFailedToGrow({ agent, record, device, found }: SmallVolume): boolean {
  const fault = agent.cache.growthFaults.get(record.volumeId);
  if (fault === undefined || fault.retryAtMs < Date.now()) return false;
  return fault.uuid === found.uuid && fault.sizeBytes === device.sizeBytes;
}

export function growthFaultsOf({ cache }: Pick<Agent, 'cache'>, volumeId: string): readonly VolumeFault[] {
  const fault = cache.growthFaults.get(volumeId);
  return fault ? [{ status: 'DEGRADED', reason: 'NotGrown', message: fault.message }] : [];
}
