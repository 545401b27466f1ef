import assert from 'node:assert/strict';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
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
import { poll } from '../../src/lib/concurrency.ts';
import { isProblem } from '../harness/gateway-problems.ts';

const mebibyte = 2 ** 20;

/** Reads and writes what volumes hold, as a node would, with nothing attached. */
export interface Content {
  write(volumeId: string, offset: number, bytes: Uint8Array): void;
  read(volumeId: string, offset: number, length: number): Uint8Array;
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

/** A backend that holds nothing, and what it takes to look into it. */
export type Opened = {
  readonly backend: Backend;
  readonly content: Content;
  /** Mutable parameters that can be applied to any volume. */
  readonly mutableParameters?: Readonly<Record<string, string>>;
  /** Volumes of one id and different nonces are different volumes, and can all be there. Otherwise the first is. */
  readonly coexist?: boolean;
};

/** Opens a backend; what it needs is removed when the test ends. */
export type OpenBackend = (t: TestContext) => Promise<Opened>;

/** What a test needs a backend to offer: a member, groups of snapshots, or a source of volumes. */
type Need = keyof Backend | 'groups' | VolumeSource['kind'];

/** A backend that offers what a test needs. */
export type Offered = Opened & {
  readonly backend: Required<Omit<Backend, 'snapshots'>> & { readonly snapshots: Required<Snapshots> };
};

/** Declares a test of a backend; it is skipped where the backend does not offer what it needs. */
export type Check = (title: string, needs: readonly Need[], work: (opened: Offered) => Promise<void>) => void;

/** Declares tests of the backends that are opened. */
export function createCheck(open: OpenBackend): Check {
  return (title, needs, work) => {
    test(title, async t => {
      const opened = await open(t);
      const missing = needs.find(need => !isOffered(opened.backend, need));
      if (missing === undefined) return work(opened as Offered);
      t.skip(`backend "${opened.backend.name}" does not offer: ${missing}`);
    });
  };
}

function isOffered(backend: Backend, need: Need): boolean {
  if (need === 'groups') return backend.snapshots?.createGroup !== undefined;
  if (need === 'snapshot' || need === 'volume') return backend.sources?.includes(need) === true;
  return backend[need] !== undefined;
}

/** A volume to make, of one mebibyte when nothing else is said. */
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

/** Makes a volume, of one mebibyte or as large as its source when nothing else is said. */
export async function makeVolume(backend: Backend, volume: Partial<NewVolume> = {}): Promise<KnownVolume> {
  const { source } = volume;
  const origin = source?.kind === 'volume' ? source.volume : source?.snapshot;
  const wanted = newVolume({ requiredBytes: origin?.sizeBytes ?? mebibyte, ...volume });
  const { sizeBytes } = await backend.create(wanted);
  return { id: wanted.id, nonce: wanted.nonce, sizeBytes, parameters: wanted.parameters };
}

/** The volume as a source, or a snapshot of it. */
export async function sourceOf(
  backend: Backend,
  kind: VolumeSource['kind'],
  volume: KnownVolume,
): Promise<VolumeSource> {
  if (kind === 'volume') return { kind, volume, attachedForWriting: false };
  return { kind, snapshot: await takeSnapshot(backend, newSnapshot('a.snapshot', volume)) };
}

/** A snapshot to take. */
export function newSnapshot(id: string, volume: KnownVolume, attachedForWriting = false): NewSnapshot {
  return { id, nonce: 'own', volume, attachedForWriting, parameters: {} };
}

/** The members of a group to take, one of each volume. */
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

/** Fails unless what is made with another nonce is refused, or is another one, which is deleted again. */
export async function assertAnother(
  { coexist }: Opened,
  create: () => Promise<unknown>,
  remove: () => Promise<void>,
) {
  if (!coexist) return assert.rejects(create(), isProblem('ALREADY_EXISTS'));
  await create();
  await remove();
}

/** Takes a snapshot, and asks again until it is ready. It is returned as backends are given it. */
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

/** All ids that are listed, in order. */
export async function idsOf({ list }: Pick<Backend, 'list'>): Promise<readonly string[]> {
  return list ? (await Array.fromAsync(list())).sort() : [];
}

/** Fails unless the volume holds the text. */
export function assertHolds(content: Content, ...at: readonly [string, number, string]): void {
  const [volumeId, offset, text] = at;
  const bytes = content.read(volumeId, offset, text.length);
  assert.equal(Buffer.from(bytes).toString(), text, `${volumeId} at ${offset}`);
}
