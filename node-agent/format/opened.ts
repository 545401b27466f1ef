import type { Secrets } from '../connector.ts';
import type { OpenedDevice } from './format.ts';
import { inPhase } from '../host/phases.ts';
import type { DeviceVolume } from '../volumes/device.ts';

/** Opens a connected device if the volume is encrypted (see `openEncrypted`); returns any other device unchanged. */
export async function openDevice(
  volume: DeviceVolume,
  connected: Omit<OpenedDevice, 'isNew'>,
  secrets: Secrets,
): Promise<OpenedDevice> {
  const { agent, record } = volume;
  if (record.attachment.encryption === undefined) return { ...connected, isNew: false };
  // Loaded late, since most nodes have no encrypted volumes.
  const { openEncrypted } = await import('./encryption.ts');
  return inPhase(agent, 'unlock', () => openEncrypted(volume, connected, secrets));
}
