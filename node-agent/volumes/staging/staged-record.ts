import { removeCopy } from './copies.ts';
import { withoutMarks, type VolumeRecord } from '../../state/records.ts';
import type { Volume } from '../carriers/index.ts';
import type { Agent } from '../agent.ts';

/** Writes the record unless the same record is on disk already, as when a call is repeated. */
export async function putChanged({ records }: Agent, record: VolumeRecord): Promise<void> {
  const { device: _, connection: __, ...known } = records.get(record.volumeId) ?? {};
  if (JSON.stringify(known) !== JSON.stringify(record)) await records.put(record);
}

/** Records that the volume is staged, and clears its marks. */
export async function recordStaged({ records }: Agent, record: VolumeRecord): Promise<void> {
  const { device, ...unmarked } = withoutMarks(record);
  const known = records.get(record.volumeId);
  if (known?.formatting) await records.put(unmarked);
  else if (known?.isUnfinished) await records.note(unmarked);
  // The device is kept in memory only: it may have another number when the agent starts again.
  records.keep({ ...unmarked, device });
}

/** Removes the record of a refused volume and its copy, so that an unstage finds neither and leaves the device alone. */
export async function forget({ agent, record, carrier }: Volume): Promise<void> {
  if (!carrier.isMounted) await removeCopy(agent.host, record);
  await agent.records.remove(record.volumeId);
}
