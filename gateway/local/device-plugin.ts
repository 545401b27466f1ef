import type { z } from 'zod';
import { unavailableProblem } from '../../src/api/problem.ts';
import type { Log } from '../../src/lib/log.ts';
import type { Backend, BackendPlugin } from '../backend.ts';
import type { Export, ExportPlugin, ExportSettings } from '../export.ts';
import { lockPool } from './command-lock.ts';
import { findMissingRules } from './udev-rules.ts';
import { exportBounds, findExportFaults } from './exported-attachments.ts';

type DeviceSettings = { readonly export: ExportSettings };

/** The parts of a pool that is being opened. `release` unlocks it. */
type OpenParts = {
  /** The file that commands lock. */
  readonly lockPath: string;
  readonly log: Log;
  readonly release: () => void;
  readonly openExport: (poolKey: () => Promise<Uint8Array>) => Promise<Export>;
};

/** The own parts of a backend on block devices. */
type DeviceBackend<Settings extends DeviceSettings> = {
  /** The pool as a noun, such as `the thin pool`, and the name of its commands, such as `LVM`. */
  readonly what: string;
  readonly commands: string;
  /** The name of the pool's lock in `/run/fairlead`. */
  lockOf(settings: Settings): string;
  /** The directory of the devices. */
  rootOf(settings: Settings): string;
  /** Repairs the rest of a killed gateway, before anything else is done with the pool. */
  prepare?(settings: Settings, lockPath: string): Promise<void>;
  findFaults(settings: Settings): Promise<readonly string[]>;
  findMissingFeatures?(settings: Settings): Promise<readonly string[]>;
  open(settings: Settings, parts: OpenParts): Promise<Backend>;
};

/** Makes the members of a plug-in that do not depend on the kind of block devices. */
export function devicePlugin<Settings extends DeviceSettings>(
  exports: ExportPlugin<z.ZodType<ExportSettings>>,
  own: DeviceBackend<Settings>,
) {
  const kind = 'device';
  const findFaults = async (settings: Settings): Promise<readonly string[]> => [
    ...(await own.findFaults(settings)),
    ...(await findExportFaults(exports, settings.export, { root: own.rootOf(settings), kind })),
  ];
  return {
    check: findFaults,
    missingFeatures: async (settings: Settings): Promise<readonly string[]> => [
      ...findMissingRules(),
      ...((await own.findMissingFeatures?.(settings)) ?? []),
    ],
    expectedBounds: ({ export: chosen }: Settings) =>
      exportBounds({ ...chosen, protocol: exports.protocolOf(chosen) }),
    async open(settings: Settings, { log }: Parameters<BackendPlugin['open']>[1]): Promise<Backend> {
      const { what, commands } = own;
      const { lockPath, release } = await lockPool(own.lockOf(settings), { what, commands, log });
      const root = own.rootOf(settings);
      const openExport: OpenParts['openExport'] = poolKey =>
        exports.open(settings.export, { root, kind, log, poolKey });
      try {
        await own.prepare?.(settings, lockPath);
        const faults = await findFaults(settings);
        // The box may still be starting: a disk, a key or a service may come later.
        if (faults.length > 0) throw unavailableProblem(faults.join('; '));
        return await own.open(settings, { lockPath, log, release, openExport });
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}
