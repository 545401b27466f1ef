import { isDroppedProtocol, type Protocol } from '../../src/api/attachment.ts';
import { asProblem } from '../../src/api/problem.ts';
import type { Log } from '../../src/lib/log.ts';
import type { AttachedVolume, AttachmentBounds, KnownVolume } from '../backend.ts';
import type { Export, ExportedAttachment, ExportedVolume } from '../export.ts';

/** The protocol of the export, the log, and the function that finds an attached volume; it rejects for a missing one. */
type Volumes = {
  readonly protocol: Protocol;
  readonly log: Log;
  readonly find: (volume: KnownVolume) => Promise<ExportedVolume>;
};

/** Yields the attached volumes. Logs and skips a volume that is missing, so that the others can be exported. */
export async function* exportedAttachments(
  attached: AsyncIterable<AttachedVolume>,
  { protocol, log, find }: Volumes,
): AsyncGenerator<ExportedAttachment> {
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
    try {
      yield { volume: await find(volume), access, reach };
    } catch (error) {
      const { code, detail } = asProblem(error);
      log.error('cannot export an attached volume', { volumeId: volume.id, code, detail });
    }
  }
}

/** The bounds of attachments over an export. */
export function exportBounds({
  protocol,
  addresses,
}: Pick<Export, 'protocol' | 'addresses'>): AttachmentBounds {
  return { protocols: [protocol], ...(addresses && { addresses }) };
}
