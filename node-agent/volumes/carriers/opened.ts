import type { Secrets } from '../../connector.ts';
import type { Opened } from '../../format/format.ts';
import { inPhase } from '../../host/phases.ts';
import type { DeviceVolume } from '../device.ts';

/** A connected device as it is used: opened where the volume is encrypted (see `openEncrypted`), any other as it is. */
export async function openDevice(
  volume: DeviceVolume,
  connected: Omit<Opened, 'isNew'>,
  secrets: Secrets,
): Promise<Opened> {
  const { agent, record } = volume;
  if (record.attachment.encryption === undefined) return { ...connected, isNew: false };
  // Most nodes encrypt nothing, and need not load it.
  const { openEncrypted } = await import('../../format/encryption.ts');
  return inPhase(agent, 'unlock', () => openEncrypted(volume, connected, secrets));
}
