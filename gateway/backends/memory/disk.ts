import type { Extent } from '../../backend.ts';

/** Bytes that were written at an offset. */
export type Write = { readonly offset: number; readonly bytes: Uint8Array };

/** What a volume or a snapshot holds: all writes in their order, so that a copy is as cheap as its list. */
export type Disk = { readonly sizeBytes: number; readonly writes: readonly Write[] };

const blockBytes = 4_096;

/** Bytes of the disk; what was never written is 0. */
export function read({ writes }: Disk, offset: number, length: number): Uint8Array {
  const content = new Uint8Array(length);
  for (const write of writes) {
    const start = Math.max(offset, write.offset);
    const end = Math.min(offset + length, write.offset + write.bytes.length);
    if (start < end)
      content.set(write.bytes.subarray(start - write.offset, end - write.offset), start - offset);
  }
  return content;
}

/** The blocks of a disk of this size that the writes reach, from the first that ends after `fromOffset`. */
export function blocksOf(writes: Iterable<Write>, sizeBytes: number, fromOffset = 0): readonly Extent[] {
  const offsets = new Set<number>();
  for (const { offset, bytes } of writes)
    for (let start = offset - (offset % blockBytes); start < offset + bytes.length; start += blockBytes)
      offsets.add(start);
  return [...offsets]
    .sort((a, b) => a - b)
    .map(offset => ({ offset, length: Math.min(blockBytes, sizeBytes - offset) }))
    .filter(({ offset, length }) => length > 0 && offset + length > fromOffset);
}
