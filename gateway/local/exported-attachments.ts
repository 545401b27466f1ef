import type { z } from 'zod';
import { isDroppedProtocol, type Protocol } from '../../src/api/attachment.ts';
import { type Log, silentLog } from '../../src/lib/log.ts';
import type { AttachedVolume, AttachmentBounds, KnownVolume } from '../backend.ts';
import type {
  Export,
  ExportContext,
  ExportedVolume,
  ExportPlugin,
  ExportSettings,
  RecordedAttachment,
  VolumeKind,
} from '../export.ts';

/** The protocol of the export, the log, and the function that finds an attached volume; it rejects for a missing one. */
type Volumes = {
  readonly protocol: Protocol;
  readonly log: Log;
  readonly find: (volume: KnownVolume) => Promise<ExportedVolume>;
};

/** Yields the attached volumes. Logs and skips those over a protocol of earlier releases. */
export async function* exportedAttachments(
  attached: AsyncIterable<AttachedVolume> | Iterable<AttachedVolume>,
  { protocol, log, find }: Volumes,
): AsyncGenerator<RecordedAttachment> {
  for await (const { volume, access, reach } of attached) {
    if (reach && isDroppedProtocol(reach.protocol)) {
      const { nodeId } = access;
      const detail = `${reach.protocol} is no longer offered: detach it and attach it again`;
      log.error('cannot export an attached volume', { volumeId: volume.id, nodeId, detail });
      continue;
    }
    if (reach && reach.protocol !== protocol)
      throw new Error(
        `export: volume "${volume.id}" is attached to node "${access.nodeId}" over ${reach.protocol}; detach it before you change the export to ${protocol}`,
      );
    yield { volume, access, reach, find: () => find(volume) };
  }
}

/** The bounds of attachments over an export. */
export function exportBounds({
  protocol,
  addresses,
}: Pick<Export, 'protocol' | 'addresses'>): AttachmentBounds {
  return { protocols: [protocol], ...(addresses && { addresses }) };
}

const nouns = { file: 'files', device: 'block devices', directory: 'directories' } as const;

/** The setting of an export, for volumes of a kind. */
export function exportSetting(exports: ExportPlugin, kind: VolumeKind): z.ZodType<ExportSettings> {
  return exports.settings.refine(chosen => exports.kindsOf(chosen).includes(kind), {
    error: ({ input }) =>
      `${(input as ExportSettings).protocol} exports no ${nouns[kind]}; choose another protocol`,
  });
}

/** A check derives nothing from the key, so any key will do. */
const anyKey = async (): Promise<Uint8Array> => new Uint8Array(32);

/** Lists the missing prerequisites of this machine for the chosen export, one line each. */
export async function findExportFaults(
  exports: ExportPlugin,
  chosen: ExportSettings | undefined,
  volumes: Pick<ExportContext, 'root' | 'kind'>,
): Promise<readonly string[]> {
  const exported = chosen && (await exports.open(chosen, { ...volumes, log: silentLog, poolKey: anyKey }));
  const faults = (await exported?.check?.()) ?? [];
  return faults.map(fault => `export: ${fault}`);
}
