import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Attachment, AttachmentOf } from '../../../api/attachment.ts';
import { fault, skip } from '../finding.ts';
import { accessOf, makeNode } from './fixtures.ts';
import type { Kit } from './kit.ts';

/** The bytes of a volume that is attached to this machine. */
export interface Disk {
  read(offset: number, length: number): Promise<Buffer>;
  write(offset: number, bytes: Buffer): Promise<void>;
  /** Returns once all that was written is durable. */
  flush(): Promise<void>;
  /** Closes it and detaches the volume. */
  close(): Promise<void>;
}

/** Attaches the volume to a node and opens it, where its protocol works on this machine; else the check is skipped. */
export async function openDisk(kit: Kit, volumeId: string): Promise<Disk> {
  if (!kit.hasData) throw skip('bytes are read and written with --data alone');
  const nodeId = await makeNode(kit);
  const { attachment } = await kit.done('attachVolume', { volumeId, nodeId, body: accessOf(kit) });
  const path = attachment && pathOf(attachment);
  if (!path) throw skip(`protocol "${attachment?.protocol}" cannot be used from this machine by the kit`);
  const file = await open(path.file, path.flags).catch((error: NodeJS.ErrnoException) => {
    throw skip(`"${path.file}" cannot be opened on this machine (${error.code})`);
  });
  if (attachment.protocol === 'loop') await requireImage(file, attachment);
  return {
    async read(offset, length) {
      const bytes = Buffer.alloc(length);
      await file.read(bytes, 0, length, offset);
      return bytes;
    },
    async write(offset, bytes) {
      await file.write(bytes, 0, bytes.length, offset);
    },
    flush: () => file.sync(),
    async close() {
      await file.sync();
      await file.close();
      await kit.done('detachVolume', { volumeId, nodeId });
    },
  };
}

/** Works with the volume while it is attached, and detaches it whatever comes of that. */
export async function withDisk<T>(kit: Kit, volumeId: string, work: (disk: Disk) => Promise<T>): Promise<T> {
  const disk = await openDisk(kit, volumeId);
  try {
    return await work(disk);
  } finally {
    await disk.close();
  }
}

/** A path is the vendor's word, and what is written there may be anybody's: only a file of the volume's size is taken. */
async function requireImage(file: FileHandle, { path, sizeBytes }: AttachmentOf<'loop'>): Promise<void> {
  const found = await file.stat();
  if (found.isFile() && found.size === sizeBytes) return;
  await file.close();
  throw fault(`"${path}" is a file of ${sizeBytes} bytes, as the attachment says`);
}

/** Which file stands for the volume: its image, or one in its directory. */
function pathOf(
  attachment: Attachment,
): { readonly file: string; readonly flags: string | number } | undefined {
  if (attachment.protocol === 'loop') return { file: attachment.path, flags: 'r+' };
  if (attachment.protocol !== 'bind') return undefined;
  return { file: join(attachment.path, 'fairlead-verify'), flags: 0o102 };
}
