import { invalidProblem } from '../../../src/api/problem.ts';
import { connectorFor } from '../../connectors/index.ts';
import type { VolumeRecord } from '../../state/records.ts';
import type { Agent } from '../agent.ts';
import type { Carrier } from '../carrier.ts';
import { createFilesystem } from './filesystem.ts';
import { createRawDevice } from './raw-device.ts';
import { createShare } from './share.ts';

export type Volume = { readonly agent: Agent; readonly record: VolumeRecord; readonly carrier: Carrier };

export function volumeOf(agent: Agent, record: VolumeRecord): Volume {
  return { agent, record, carrier: carrierOf(agent, record) };
}

/** Chooses the carrier by attachment and capability; INVALID_ARGUMENT for a share as a block volume. */
export function carrierOf(agent: Agent, record: VolumeRecord): Carrier {
  const connector = connectorFor(record.attachment);
  requireCarrier(record);
  if (connector.kind === 'share') return createShare({ agent, record, connector });
  return (isBlock(record) ? createRawDevice : createFilesystem)({ agent, record, connector });
}

/** INVALID_ARGUMENT for a share as a block volume. */
export function requireCarrier(record: VolumeRecord): void {
  const { attachment } = record;
  if (isBlock(record) && connectorFor(attachment).kind === 'share')
    throw invalidProblem(`a volume over ${attachment.protocol} is a share, which has no block device`);
}

function isBlock({ capability }: VolumeRecord): boolean {
  return capability.accessType === 'block';
}
