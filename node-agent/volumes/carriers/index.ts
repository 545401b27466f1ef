import { shareConnectorFor } from '../../connectors/index.ts';
import type { VolumeRecord } from '../../state/records.ts';
import type { Agent } from '../agent.ts';
import type { Carrier } from '../carrier.ts';
import { createFilesystem } from './filesystem.ts';
import { createRawDevice } from './raw-device.ts';
import { createShare } from './share.ts';

/** What a volume is on this node, by its attachment and its capability. */
export function carrierOf(agent: Agent, record: VolumeRecord): Carrier {
  const connector = shareConnectorFor(record.attachment);
  if (connector) return createShare(agent, record, connector);
  return record.capability.accessType === 'block'
    ? createRawDevice(agent, record)
    : createFilesystem(agent, record);
}
