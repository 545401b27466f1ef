import type { Extent } from '../../backend.ts';

/** What a volume or a snapshot holds: blocks that are never changed, only replaced, so that a copy is cheap. */
export type Disk = { readonly sizeBytes: number; readonly blocks: ReadonlyMap<number, Uint8Array> };

const blockBytes = 4_096;

/** What the blocks that were ever written take, in bytes. */
export function heldBytes({ blocks }: Disk): number {
  return blocks.size * blockBytes;
}

/** The disk with these bytes written to it. */
export function write(disk: Disk, offset: number, bytes: Uint8Array): Disk {
  const blocks = new Map(disk.blocks);
  for (let done = 0; done < bytes.length;) {
    const at = offset + done;
    const index = Math.floor(at / blockBytes);
    const block = Uint8Array.from(blocks.get(index) ?? new Uint8Array(blockBytes));
    const part = bytes.subarray(done, done + blockBytes - (at % blockBytes));
    block.set(part, at % blockBytes);
    blocks.set(index, block);
    done += part.length;
  }
  return { ...disk, blocks };
}

/** Bytes of the disk; what was never written is 0. */
export function read({ blocks }: Disk, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let done = 0; done < length;) {
    const at = offset + done;
    const block = blocks.get(Math.floor(at / blockBytes)) ?? new Uint8Array(blockBytes);
    const part = block.subarray(at % blockBytes, (at % blockBytes) + length - done);
    bytes.set(part, done);
    done += part.length;
  }
  return bytes;
}

/** The stretches of blocks that were ever written, from the first that ends after `fromOffset`. */
export function allocated(disk: Disk, fromOffset: number): readonly Extent[] {
  return toExtents([...disk.blocks.keys()], disk, fromOffset);
}

/** The stretches of blocks of `target` that `base` does not share. */
export function changed(
  { base, target }: { readonly base: Disk; readonly target: Disk },
  fromOffset: number,
): readonly Extent[] {
  const differing = [...target.blocks.keys()].filter(
    index => base.blocks.get(index) !== target.blocks.get(index),
  );
  return toExtents(differing, target, fromOffset);
}

function toExtents(indexes: number[], { sizeBytes }: Disk, fromOffset: number): readonly Extent[] {
  const extents: Extent[] = [];
  for (const index of indexes.sort((a, b) => a - b)) {
    const offset = index * blockBytes;
    const length = Math.min(blockBytes, sizeBytes - offset);
    const last = extents.at(-1);
    if (offset + length <= fromOffset) continue;
    if (last && last.offset + last.length === offset)
      extents.splice(-1, 1, { offset: last.offset, length: last.length + length });
    else extents.push({ offset, length });
  }
  return extents;
}
