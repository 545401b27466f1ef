import type { NewVolume } from '../../../../gateway/backend.ts';
import { mounted } from '../../../harness/gateway-harness.ts';

/** A volume as a backend is asked to make it. */
export function newVolume(id: string): NewVolume {
  return { id, requiredBytes: 2 ** 20, limitBytes: 0, parameters: {}, capabilities: [mounted] };
}
