import { unavailableProblem } from '../../../src/api/problem.ts';
import type { Backend, BackendPlugin } from '../../backend.ts';
import type { ExportPlugin, ExportSettings } from '../../export.ts';
import { lockPool } from './command-lock.ts';
import type { ExportParts } from './device-volumes.ts';
import { exportBounds, exportSetting, findExportFaults } from '../exported-attachments.ts';
import { findProgramFaults, type NeededProgram } from '../programs.ts';
import { byteCount } from '../settings-schemas.ts';
import { findMissingRules } from './udev-rules.ts';

const kind = 'device';

type DeviceSettings = { readonly export: ExportSettings };

/** The members that depend on the export alone. */
type ExportMembers = 'attachmentBounds' | 'accessModes' | 'accessTypes' | 'sources' | 'close';

/** The members that differ between LVM and ZFS. */
type DeviceBackend<Settings extends DeviceSettings, Pool> = {
  /** The pool as a noun, such as `the thin pool`, and the name of its commands, such as `LVM`. */
  readonly poolNoun: string;
  readonly commands: string;
  readonly programs: readonly NeededProgram[];
  /** The name of the pool's lock in `/run/fairlead`. */
  lockOf(settings: Settings): string;
  /** The directory of the devices. */
  rootOf(settings: Settings): string;
  /** Opens the pool without an effect. `lockPath` is the file that commands lock. */
  openPool(settings: Settings, lockPath: string): Pool;
  /** Repairs the pool after a gateway was killed, before anything else is done with the pool. */
  prepare?(pool: Pool): Promise<void>;
  /** Lists the faults of the pool, one line each. */
  findFaults(settings: Settings): Promise<readonly string[]>;
  findMissingFeatures?(settings: Settings): Promise<readonly string[]>;
  readKey(pool: Pool): Promise<Uint8Array>;
  open(pool: Pool, settings: Settings, parts: ExportParts): Promise<Omit<Backend, ExportMembers>>;
};

/** The settings of every backend on block devices. `defaultCapacity` describes the capacity without a setting. */
export function deviceSettings(exports: ExportPlugin, defaultCapacity: string) {
  return {
    capacity: byteCount
      .optional()
      .describe(
        `bytes that volumes and snapshots may reserve; default: ${defaultCapacity}; a larger value reserves more than there is`,
      ),
    export: exportSetting(exports, kind).describe(
      'the export of volumes to nodes; loop exports no block devices',
    ),
  };
}

/** Makes the members of a plug-in that do not depend on the kind of block devices. */
export function devicePlugin<Settings extends DeviceSettings, Pool>(
  exports: ExportPlugin,
  backend: DeviceBackend<Settings, Pool>,
) {
  async function findFaults(settings: Settings): Promise<readonly string[]> {
    const lacks = await findProgramFaults(backend.commands, backend.programs);
    return [
      ...(lacks.length > 0 ? lacks : await backend.findFaults(settings)),
      ...(await findExportFaults(exports, settings.export, { root: backend.rootOf(settings), kind })),
    ];
  }
  return {
    check: findFaults,
    missingFeatures: async (settings: Settings): Promise<readonly string[]> => [
      ...findMissingRules(),
      ...((await backend.findMissingFeatures?.(settings)) ?? []),
    ],
    expectedBounds: ({ export: chosen }: Settings) =>
      exportBounds({ ...chosen, protocol: exports.protocolOf(chosen) }),
    async open(settings: Settings, { log }: Parameters<BackendPlugin['open']>[1]): Promise<Backend> {
      const { poolNoun: what, commands } = backend;
      const { lockPath, release } = await lockPool(backend.lockOf(settings), { what, commands, log });
      try {
        const pool = backend.openPool(settings, lockPath);
        await backend.prepare?.(pool);
        const faults = await findFaults(settings);
        // The box may still be starting: a disk, a key or a service may come later.
        if (faults.length > 0) throw unavailableProblem(faults.join('; '));
        const poolKey = () => backend.readKey(pool);
        const exported = await exports.open(settings.export, {
          root: backend.rootOf(settings),
          kind,
          log,
          poolKey,
        });
        return {
          ...(await backend.open(pool, settings, { exported, log })),
          attachmentBounds: exportBounds(exported),
          accessModes: exported.accessModes,
          accessTypes: ['mount', 'block'],
          sources: ['snapshot', 'volume'],
          async close() {
            await exported.close?.();
            release();
          },
        };
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}
