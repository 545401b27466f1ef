import assert from 'node:assert/strict';
import { closeSync, fsyncSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { test, type TestContext } from 'node:test';
import {
  memberIdOf,
  type Backend,
  type CreatedSnapshot,
  type KnownSnapshot,
  type KnownVolume,
  type NewSnapshot,
  type NewVolume,
  type Snapshots,
  type VolumeSource,
} from '../../gateway/backend.ts';
import { chooseSize } from '../../gateway/volumes/size.ts';
import { poll } from '../../src/lib/concurrency.ts';

const mebibyte = 2 ** 20;

/** Reads and writes the data of volumes, as a node would, without an attachment. */
export interface Content {
  write(volumeId: string, offset: number, bytes: Uint8Array): void;
  read(volumeId: string, offset: number, length: number): Uint8Array;
}

export function contentOf(pathOf: (volumeId: string) => string): Content {
  return {
    write(volumeId, offset, bytes) {
      const file = openSync(pathOf(volumeId), constants.O_RDWR | constants.O_CREAT);
      writeSync(file, bytes, 0, bytes.length, offset);
      // Closing writes nothing to a device that an export has open, too.
      fsyncSync(file);
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

/** A new, empty backend, and the access to its volumes' data. */
export type OpenedBackend = {
  readonly backend: Backend;
  readonly content: Content;
  /** Mutable parameters that apply to any volume. */
  readonly mutableParameters?: Readonly<Record<string, string>>;
  /** True if volumes of one id with different nonces can exist side by side. Otherwise the first one keeps the id. */
  readonly coexist?: boolean;
};

/** Opens a backend; its resources are removed when the test ends. */
export type OpenBackend = (t: TestContext) => Promise<OpenedBackend>;

/** A feature of the backend that a test needs: a member, groups of snapshots, or a source of volumes. */
type Need = keyof Backend | 'groups' | VolumeSource['kind'];

/** A backend with the features that a test needs; its volumes get sizes as the gateway chooses them. */
export type OfferedBackend = OpenedBackend & {
  /**
   * The size of the smallest volume in these tests, in bytes: a mebibyte, or more if the backend has no smaller size.
   */
  readonly unitBytes: number;
  readonly backend: Required<Omit<Backend, 'snapshots'>> & { readonly snapshots: Required<Snapshots> };
};

/** Declares a test of a backend; it is skipped if the backend lacks a feature that the test needs. */
export type Check = (
  title: string,
  needs: readonly Need[],
  work: (opened: OfferedBackend) => Promise<void>,
) => void;

/** Declares tests of the opened backends. */
export function createCheck(open: OpenBackend): Check {
  return (title, needs, work) => {
    test(title, async t => {
      const opened = await open(t);
      const missing = needs.find(need => !isOffered(opened.backend, need));
      if (missing === undefined)
        return work({
          ...opened,
          backend: choosingSizes(opened.backend),
          unitBytes: sizeFor(opened.backend, mebibyte),
        } as OfferedBackend);
      t.skip(`backend "${opened.backend.name}" does not offer: ${missing}`);
    });
  };
}

/** Returns the size that the gateway chooses where this many bytes are required. */
function sizeFor({ sizes }: Backend, requiredBytes: number): number {
  return sizes ? chooseSize({ requiredBytes, limitBytes: 0 }, sizes) : requiredBytes;
}

/** Returns the backend with a `create` that requests a size that the backend can make, as the gateway does. */
function choosingSizes(backend: Backend): Backend {
  const create: Backend['create'] = async volume =>
    backend.create({ ...volume, requiredBytes: sizeFor(backend, volume.requiredBytes) });
  return new Proxy(backend, {
    get(target, member) {
      if (member === 'create') return create;
      const value: unknown = Reflect.get(target, member);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function isOffered(backend: Backend, need: Need): boolean {
  if (need === 'groups') return backend.snapshots?.createGroup !== undefined;
  if (need === 'snapshot' || need === 'volume') return backend.sources?.includes(need) === true;
  return backend[need] !== undefined;
}

/** Makes a request for a volume, by default of one mebibyte. */
export function newVolume(volume: Partial<NewVolume> = {}): NewVolume {
  return {
    id: 'a.volume',
    nonce: 'own',
    requiredBytes: mebibyte,
    limitBytes: 0,
    parameters: {},
    capabilities: [{ accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' }],
    ...volume,
  };
}

/** Creates a volume, by default of one mebibyte, or as large as its source. */
export async function makeVolume(backend: Backend, volume: Partial<NewVolume> = {}): Promise<KnownVolume> {
  const { source } = volume;
  const origin = source?.kind === 'volume' ? source.volume : source?.snapshot;
  const wanted = newVolume({ requiredBytes: origin?.sizeBytes ?? mebibyte, ...volume });
  const { sizeBytes } = await backend.create(wanted);
  return { id: wanted.id, nonce: wanted.nonce, sizeBytes, parameters: wanted.parameters };
}

/** Makes the volume, or a snapshot of it, into a source. */
export async function sourceOf(
  backend: Backend,
  kind: VolumeSource['kind'],
  volume: KnownVolume,
): Promise<VolumeSource> {
  if (kind === 'volume') return { kind, volume, attachedForWriting: false };
  return { kind, snapshot: await takeSnapshot(backend, newSnapshot('a.snapshot', volume)) };
}

export function newSnapshot(id: string, volume: KnownVolume, attachedForWriting = false): NewSnapshot {
  return { id, nonce: 'own', volume, attachedForWriting, parameters: {} };
}

export function newGroup(volumes: readonly KnownVolume[]): readonly NewSnapshot[] {
  const id = 'a.group';
  return volumes.map((volume, member) => ({
    id: memberIdOf(id, 'own', member),
    nonce: 'own',
    group: { id, member },
    volume,
    attachedForWriting: false,
    parameters: {},
  }));
}

/** Fails unless creating with another nonce is refused or makes another volume or snapshot, which is deleted again. */
export async function assertAnother(
  { coexist }: OpenedBackend,
  create: () => Promise<unknown>,
  remove: () => Promise<void>,
) {
  if (!coexist) return assert.rejects(create(), { code: 'ALREADY_EXISTS' });
  await create();
  await remove();
}

/** Takes a snapshot, repeats the request until it is ready, and returns it as the gateway passes it to backends. */
export async function takeSnapshot(
  { snapshots }: Backend,
  snapshot: NewSnapshot,
): Promise<CreatedSnapshot & KnownSnapshot> {
  const look = async (): Promise<CreatedSnapshot | undefined> => {
    const made = await snapshots?.create(snapshot);
    return made?.ready ? made : undefined;
  };
  const made = await poll(look, { everyMs: 100, timeoutMs: 30_000 });
  assert.ok(made, `snapshot "${snapshot.id}" is never ready`);
  return { id: snapshot.id, nonce: snapshot.nonce, volumeId: snapshot.volume.id, ...made };
}

/** Lists all ids in order. */
export async function idsOf({ list }: Pick<Backend, 'list'>): Promise<readonly string[]> {
  return list ? (await Array.fromAsync(list())).sort() : [];
}

/** Fails unless the volume has this text at this offset. */
export function assertHolds(content: Content, ...at: readonly [string, number, string]): void {
  const [volumeId, offset, text] = at;
  const bytes = content.read(volumeId, offset, text.length);
  assert.equal(Buffer.from(bytes).toString(), text, `${volumeId} at ${offset}`);
}
