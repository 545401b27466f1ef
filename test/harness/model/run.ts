import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import {
  assert as assertProperty,
  asyncModelRun,
  asyncProperty,
  commands,
  nat,
  type Arbitrary,
} from 'fast-check';
import type { Backend } from '../../../gateway/backend.ts';
import type { Snapshot } from '../../../src/api/snapshot.ts';
import { pause } from '../../../src/lib/concurrency.ts';
import { clusters } from '../gateway.ts';
import { seed } from '../sample.ts';
import { storeIn } from '../stores/store-in.ts';
import { createModel, type Content, type Model, type ModelSnapshot } from './model.ts';
import { askOnce, listAll, slotBytes, type Command } from './play.ts';
import { toBytes, type ModelStorage } from './storage.ts';
import { openWorld, type World } from './world.ts';

const { MODEL_RUNS: runs, MODEL_PATH: path, MODEL_REPLAY: replay, PATIENCE_MS } = process.env;
const slots = 8;
/** The time that open requests may take once no more faults happen. */
const patienceMs = Number(PATIENCE_MS ?? 10_000);
const contentBytes = slots * slotBytes;

type Play = {
  /** Opens an empty storage for each run. */
  openStorage(): Promise<ModelStorage>;
  readonly command: Arbitrary<Command>;
  readonly maxCommands: number;
  readonly usualRuns: number;
  /** True if a failure depends on timing, so that shrinking it makes no sense. */
  readonly endOnFailure?: boolean;
};

/**
 * Runs commands on worlds and fails unless every required object exists in the end. Returns false if the environment
 * chose other runs than usual.
 */
export async function assertPlays(t: TestContext, play: Play): Promise<boolean> {
  const directory = memoryDirectory(t);
  let stores = 0;
  const script = commands([play.command], {
    maxCommands: play.maxCommands,
    size: 'max',
    ...(replay !== undefined && { replayPath: replay }),
  });
  const property = asyncProperty(script, nat(), async (steps, faultSeed) => {
    const storage = await play.openStorage();
    const store = await storeIn(join(directory, String(stores++)));
    const world = await openWorld(t, { store, storage, seed: faultSeed });
    const model = createModel(storage.snapshotsHoldVolumes);
    try {
      await asyncModelRun(async () => ({ model, real: world }), steps);
      await finish(model, world);
      await assertSame(model, world);
    } finally {
      await world.close();
    }
  });
  await assertProperty(property, {
    seed,
    numRuns: runs === undefined ? play.usualRuns : Number(runs),
    endOnFailure: play.endOnFailure ?? false,
    ...(path !== undefined && { path }),
  });
  return runs === undefined && path === undefined;
}

/** Makes a directory, in memory if possible, because losses of the disk are not tested here. */
export function memoryDirectory(t: TestContext): string {
  const parent = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
  const directory = mkdtempSync(join(parent, 'fairlead-model-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Ends all faults and repeats the open requests; afterwards nothing is unfinished. */
async function finish(model: Model, world: World): Promise<void> {
  await world.calm();
  const gateway = world.gateway(0);
  await gateway.recovery.sweep();
  // On a busy machine a gateway may pause longer than its claims hold, and then leaves the storage alone.
  for (const endMs = Date.now() + patienceMs; model.open.size > 0 && Date.now() < endMs; await pause(5))
    for (const operation of model.open.values()) await askOnce(operation, model, { world, at: 0 });
  assert.deepEqual([...model.open.values()], []);
  assert.equal(await gateway.recovery.sweep(), 0);
}

/** Fails unless the model, the rows and the storage agree. */
async function assertSame(model: Model, world: World): Promise<void> {
  const { storage } = world;
  const { mutable, topologyOf, nodeIdOf = name => name } = storage;
  const backend = world.backend(1);
  const attached = await storage.attached();
  const volumes = await listAll(world.gateway(1));
  const ids = [...model.volumes.keys()].sort();
  const states = volumes.map(({ id, state, pending }) => ({ id, state, pending }));
  assert.deepEqual(
    states,
    ids.map(id => ({ id, state: 'ready', pending: undefined })),
  );
  assert.deepEqual((await Array.fromAsync(backend.list?.() ?? [])).sort(), ids);
  for (const { id, sizeBytes, attachments, mutableParameters, topology } of volumes) {
    const { size, node, tier, content, zone } = model.volumes.get(id) ?? assert.fail(id);
    assert.deepEqual(topology, topologyOf?.(zone), id);
    assert.equal(sizeBytes, toBytes(storage, size), id);
    assert.equal(await sizeOf(backend, id), sizeBytes, id);
    const nodes = node === undefined ? [] : [nodeIdOf(node)];
    assert.deepEqual(
      attachments.map(({ nodeId }) => nodeId),
      nodes,
    );
    assert.deepEqual([...(attached.get(id) ?? [])], nodes, id);
    assert.equal(mutableParameters?.[mutable], tier, id);
    assert.equal(hashOf(await storage.read(id, 0, contentBytes)), hashOfContent(content), `bytes of ${id}`);
  }
  await assertSnapshots(model, world);
}

async function assertSnapshots(model: Model, world: World): Promise<void> {
  const { snapshots, groups } = world.gateway(1);
  const known = new Map<string, ModelSnapshot>(model.snapshots);
  for (const [id, members] of model.groups) {
    const group = await groups.get(clusters.a, id);
    assert.equal(group.state, 'ready', id);
    assert.equal(group.snapshots.length, members.length, id);
    for (const [index, member] of members.entries()) known.set(group.snapshots[index]?.id ?? id, member);
  }
  const listed = (await snapshots.list(clusters.a, { limit: 100 })).snapshots;
  const ids = [...known.keys()].sort();
  const listedIds = listed.map(({ id }) => id);
  assert.deepEqual(listedIds, ids);
  assert.deepEqual((await Array.fromAsync(world.backend(1).snapshots?.list?.() ?? [])).sort(), ids);
  for (const snapshot of listed) await assertHolds(world, snapshot, known.get(snapshot.id));
}

async function assertHolds(
  { storage }: World,
  { id, volumeId, sizeBytes, state, topology }: Snapshot,
  known?: ModelSnapshot,
) {
  assert.ok(known, id);
  const size = toBytes(storage, known.size);
  assert.deepEqual([volumeId, sizeBytes, state], [known.of, size, 'ready'], id);
  assert.deepEqual(topology, storage.topologyOf?.(known.zone), id);
  const bytes = await storage.readSnapshot({ id, volumeId, sizeBytes }, contentBytes);
  assert.equal(hashOf(bytes), hashOfContent(known.content), id);
}

/** Returns the storage's size of a volume: the answer to an expansion to no size. */
async function sizeOf(backend: Backend, id: string): Promise<number | undefined> {
  const nothing = { requiredBytes: 0, limitBytes: 0 };
  return (await backend.expand?.({ id, sizeBytes: 0, parameters: {} }, nothing))?.sizeBytes;
}

function hashOf(bytes: Uint8Array): string {
  return hash('sha256', bytes);
}

function hashOfContent(content: Content): string {
  const bytes = new Uint8Array(contentBytes);
  for (const [slot, value] of content) bytes[slot * slotBytes] = value;
  return hashOf(bytes);
}
