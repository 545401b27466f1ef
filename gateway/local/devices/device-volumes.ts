import { asProblem, preconditionProblem, Problem } from '../../../src/api/problem.ts';
import type { Log } from '../../../src/lib/log.ts';
import type { Backend, HealthEntry, KnownVolume, NewVolume, VolumeRef } from '../../backend.ts';
import type { Export, ExportedVolume } from '../../export.ts';
import { exportedAttachments } from '../exported-attachments.ts';
import type { createKnownDisks } from '../kernel/known-disks.ts';
import type { Finder, PoolEntry } from './finder.ts';
import { volumeFaults } from './pool-faults.ts';

/** The work on volumes that differs between pools of block devices. */
export type VolumeDriver<Entry extends PoolEntry, Report extends Finder<Entry>> = {
  /** A volume of the pool in messages, such as `zvol`. */
  readonly noun: string;
  readonly known: ReturnType<typeof createKnownDisks>;
  /** Reports the state of the pool at one moment. With `volume`, the report may have only this volume. */
  report(volume?: VolumeRef): Promise<Report>;
  /**
   * Makes the devices of volumes usable, and reports the state of the pool then. The report may have only these volumes;
   * missing ones are left out.
   */
  activate(volumes: readonly VolumeRef[]): Promise<Report>;
  /** The path of the volume's device, which may be missing. */
  pathOf(id: string): string;
  /**
   * Creates a volume in one step. A copy may still be as small as its source. For a volume with a source, the report has
   * the whole pool.
   */
  create(report: Report, volume: NewVolume): Promise<void>;
  /** Extends a volume that is smaller. Returns its size. */
  extend(volume: Entry, requiredBytes: number): Promise<number>;
  /** Returns the path for exports, then the paths of the devices below it. UNAVAILABLE while the device is missing. */
  open(volume: Entry): Promise<readonly [path: string, ...below: string[]]>;
  /** Removes a volume that no export uses. FAILED_PRECONDITION while a program of this machine has it open. */
  remove(volume: VolumeRef): Promise<void>;
  /** Reports the faults of the pool, among them that it will be full soon. */
  faults(report: Report): Promise<readonly HealthEntry[]>;
};

/** The export of a pool, and its log. */
export type ExportParts = { readonly exported: Export; readonly log: Log };

type VolumeMembers = Required<
  Pick<Backend, 'create' | 'expand' | 'delete' | 'attach' | 'detach' | 'volumeHealth' | 'list' | 'restore'>
>;

/** Makes the members of a backend that manage its volumes and export them to nodes. */
export function createDeviceVolumes<Entry extends PoolEntry, Report extends Finder<Entry>>(
  driver: VolumeDriver<Entry, Report>,
  { exported, log }: ExportParts,
): VolumeMembers {
  const { known } = driver;
  const refOf = (volume: VolumeRef) => ({ ...volume, path: driver.pathOf(volume.id) });

  async function open({ id, nonce }: VolumeRef, entry: Entry): Promise<ExportedVolume> {
    const [path, ...below] = await driver.open(entry);
    const { sizeBytes } = entry;
    return known.add({ id, ...(nonce !== undefined && { nonce }), path, sizeBytes }, ...below);
  }

  /** Extends and opens a volume. Returns its size. */
  async function extend(volume: VolumeRef, entry: Entry, requiredBytes: number): Promise<number> {
    const sizeBytes = await driver.extend(entry, requiredBytes);
    await open(volume, { ...entry, sizeBytes });
    return sizeBytes;
  }

  /** Opens a volume for nodes. FAILED_PRECONDITION when it is missing or too small. */
  async function use(report: Report, volume: KnownVolume): Promise<ExportedVolume> {
    const found = report.find('volume', volume);
    if (found && found.sizeBytes >= volume.sizeBytes) return open(volume, found);
    throw preconditionProblem(
      `the ${driver.noun} of volume "${volume.id}" is missing or smaller than the volume`,
    );
  }

  return {
    async create(volume) {
      const { id, nonce, limitBytes, requiredBytes, source } = volume;
      const report = await driver.report(source ? undefined : volume);
      if (!report.findMade('volume', { id, nonce })) await driver.create(report, volume);
      const made = (await driver.activate([volume])).requireEntry('volume', volume);
      if (limitBytes > 0 && made.sizeBytes > limitBytes)
        throw new Problem('ALREADY_EXISTS', `volume "${id}" already exists with ${made.sizeBytes} bytes`);
      return { sizeBytes: await extend(volume, made, requiredBytes) };
    },

    async expand(volume, { requiredBytes }) {
      const found = (await driver.activate([volume])).requireEntry('volume', volume);
      const sizeBytes = await extend(volume, found, requiredBytes);
      await exported.resize?.({ ...refOf(volume), sizeBytes });
      return { sizeBytes, nodeExpansionRequired: true };
    },

    async delete(volume) {
      const users = (await exported.users?.(refOf(volume))) ?? [];
      if (users.length > 0)
        throw preconditionProblem(`volume "${volume.id}" is still in use by ${users.join(', ')}`);
      known.forget(volume.id);
      await driver.remove(volume);
    },

    attach: async (volume, access) =>
      exported.publish(known.find(volume) ?? (await use(await driver.activate([volume]), volume)), access),
    detach: (volume, nodeId, cluster) => exported.withdraw(refOf(volume), nodeId, cluster),

    async volumeHealth(volume) {
      const report = await driver.report(volume);
      const foundBytes = report.find('volume', volume)?.sizeBytes;
      return [
        ...volumeFaults({ ...volume, foundBytes, noun: driver.noun }),
        ...(foundBytes === undefined ? [] : await driver.faults(report)),
      ];
    },

    async *list() {
      yield* (await driver.report()).ids('volume');
    },

    async restore(attached) {
      const all = await Array.fromAsync(attached);
      const volumes = all.map(({ volume }) => volume);
      let first: Report | undefined = await driver.activate(volumes).catch((error: unknown) => {
        // One faulty volume must not keep the others from their nodes.
        log.error('cannot activate every volume', { detail: asProblem(error).detail });
        return driver.report();
      });
      const find = async (volume: KnownVolume) => use(first ?? (await driver.activate([volume])), volume);
      const { protocol } = exported;
      await exported.restore?.(exportedAttachments(all, { protocol, log, find }));
      first = undefined;
    },
  };
}
