import assert from 'node:assert/strict';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import type { TestContext } from 'node:test';
import type {
  Backend,
  CreatedSnapshot,
  Extent,
  KnownSnapshot,
  KnownVolume,
  NewSnapshot,
  NewVolume,
  Snapshots,
  VolumeSource,
} from '../../gateway/backend.ts';
import { poll } from '../../src/lib/concurrency.ts';
import { newVolume } from './backend.ts';

const mebibyte = 2 ** 20;

/** Reads and writes what volumes hold, as a node would, with nothing attached. */
export interface Content {
  write(volumeId: string, offset: number, bytes: Uint8Array): Promise<void> | void;
  read(volumeId: string, offset: number, length: number): Promise<Uint8Array> | Uint8Array;
}

/** What volumes hold, where each is a file. */
export function contentOf(pathOf: (volumeId: string) => string): Content {
  return {
    write(volumeId, offset, bytes) {
      const file = openSync(pathOf(volumeId), constants.O_RDWR | constants.O_CREAT);
      writeSync(file, bytes, 0, bytes.length, offset);
      closeSync(file);
    },
    read(volumeId, offset, length) {
      const file = openSync(pathOf(volumeId), 'r');
      const buffer = Buffer.alloc(length);
      readSync(file, buffer, 0, length, offset);
      closeSync(file);
      return buffer;
    },
  };
}

/** A backend that holds nothing, and what it takes to look into it; without `content` only sizes are checked. */
export type Opened = {
  readonly backend: Backend;
  readonly content?: Content;
  /** Mutable parameters that can be applied to any volume. */
  readonly mutableParameters?: Readonly<Record<string, string>>;
};

/** Opens a backend; what it needs is removed when the test ends. */
export type OpenMembers = (t: TestContext) => Promise<Opened>;

/** True when volumes can be made from this; otherwise the test is skipped. */
export function offersSource(t: TestContext, backend: Backend, kind: VolumeSource['kind']): boolean {
  const offered =
    backend.sources?.includes(kind) === true && (kind === 'volume' || Boolean(backend.snapshots));
  if (!offered) t.skip(`backend "${backend.name}" makes no volumes from a ${kind}`);
  return offered;
}

/** Makes a volume, of one mebibyte or as large as its source when nothing else is said. */
export async function makeVolume(backend: Backend, volume: Partial<NewVolume> = {}): Promise<KnownVolume> {
  const wanted = newVolume({
    requiredBytes: volume.source ? sizeOfSource(volume.source) : mebibyte,
    ...volume,
  });
  const { sizeBytes } = await backend.create(wanted);
  return { id: wanted.id, sizeBytes, parameters: wanted.parameters };
}

function sizeOfSource(source: VolumeSource): number {
  return source.kind === 'volume' ? source.volume.sizeBytes : source.snapshot.sizeBytes;
}

/** The volume as a source, or a snapshot of it. */
export async function sourceOf(
  backend: Backend,
  kind: VolumeSource['kind'],
  volume: KnownVolume,
): Promise<VolumeSource> {
  if (kind === 'volume') return { kind, volume, attachedForWriting: false };
  return { kind, snapshot: await cutKnown(backend, 'a.snapshot', volume) };
}

/** A snapshot to cut of a volume that nobody writes to. */
export function newSnapshot(id: string, volume: KnownVolume): NewSnapshot {
  return { id, volume, attachedForWriting: false, parameters: {} };
}

/** Cuts a snapshot and tells it as backends are told of it. */
export async function cutKnown(backend: Backend, id: string, volume: KnownVolume): Promise<KnownSnapshot> {
  assert.ok(backend.snapshots, 'it has no snapshots');
  const { sizeBytes } = await cut(backend.snapshots, newSnapshot(id, volume));
  return { id, volumeId: volume.id, sizeBytes };
}

/** Cuts, and asks again until it is ready. */
export async function cut(snapshots: Snapshots, snapshot: NewSnapshot): Promise<CreatedSnapshot> {
  const look = async (): Promise<CreatedSnapshot | undefined> => {
    const made = await snapshots.create(snapshot);
    return made.ready ? made : undefined;
  };
  const made = await poll(look, { everyMs: 100, timeoutMs: 30_000 });
  return made ?? assert.fail(`snapshot "${snapshot.id}" is never ready`);
}

/** All snapshots that are there, by id; none where the backend does not list them. */
export async function snapshotsOf(snapshots: Snapshots): Promise<readonly string[]> {
  return snapshots.list ? (await Array.fromAsync(snapshots.list())).sort() : [];
}

/** Fails unless the extents increase, do not overlap, and lie within the size. */
export function assertOrdered(extents: readonly Extent[], sizeBytes: number): void {
  let end = 0;
  for (const { offset, length } of extents) {
    assert.ok(offset >= end && length > 0, JSON.stringify(extents));
    end = offset + length;
  }
  assert.ok(end <= sizeBytes, `${end} is beyond ${sizeBytes}`);
}

/** Tells whether an extent has the byte. */
export function covers(at: number): (extent: Extent) => boolean {
  return ({ offset, length }) => offset <= at && at < offset + length;
}

/** Bytes that are easily told apart. */
export function pattern(text: string): Uint8Array {
  return Buffer.from(text);
}

/** Fails unless the volume holds the text; nothing is looked at without `content`. */
export async function assertHolds(
  content: Content | undefined,
  ...[volumeId, offset, text]: readonly [string, number, string]
): Promise<void> {
  if (!content) return;
  const bytes = await content.read(volumeId, offset, text.length);
  assert.equal(Buffer.from(bytes).toString(), text, `${volumeId} at ${offset}`);
}
