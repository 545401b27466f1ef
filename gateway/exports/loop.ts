import * as z from 'zod';
import { preconditionProblem } from '../../src/api/problem.ts';
import { accessModes } from '../../src/api/storage.ts';
import type { Export, ExportedRef, ExportPlugin } from '../export.ts';
import { loopDevicesOf } from '../local/loop-devices.ts';

const settings = z.strictObject({
  protocol: z
    .literal('loop')
    .describe('attaches volumes as loop devices of this machine, which is the only node'),
});

/** Exports volumes to nodes on this machine, which set up loop devices themselves; the gateway observes them. */
export const loop: ExportPlugin<typeof settings> = {
  settings,
  protocolOf: () => 'loop',
  kindsOf: () => ['file'],
  open: async () => openLoop(),
};

export function openLoop(): Export {
  return {
    protocol: 'loop',
    // A claim for readers may be on one node. Backup programs read snapshots by such claims.
    accessModes: accessModes.filter(
      mode => mode.startsWith('SINGLE_NODE') || mode === 'MULTI_NODE_READER_ONLY',
    ),
    publish: async ({ path }, { mayReplay }) => ({ protocol: 'loop', path, ...(mayReplay && { mayReplay }) }),
    withdraw: requireUnused,
    // Nothing to restore. Reading the list makes the backend check that every volume's attachment is by loop device.
    restore: async attached => void (await Array.fromAsync(attached)),
  };
}

/**
 * FAILED_PRECONDITION while a loop device has the file open, since a node could read and write it. The devices are
 * observed, not remembered.
 */
async function requireUnused({ id, path }: ExportedRef): Promise<void> {
  const devices = await loopDevicesOf(path);
  if (devices.length > 0)
    throw preconditionProblem(`volume "${id}" is still in use by /dev/${devices.join(', /dev/')}`);
}
