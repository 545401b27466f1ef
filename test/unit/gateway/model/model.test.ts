import assert from 'node:assert/strict';
import { clusters } from '../../../harness/gateway-harness.ts';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { assert as assertProperty, asyncModelRun, asyncProperty, commands, nat } from 'fast-check';
import type { Snapshot } from '../../../../src/api/snapshot.ts';
import { isFull, seed } from '../../../harness/sample.ts';
import { createModel, type Content, type Model, type ModelSnapshot } from './model.ts';
import { event } from './operations.ts';
import { askOnce, listAll, mebibyte, slotBytes, toCommand } from './play.ts';
import { openWorld, type World } from './world.ts';

const { MODEL_RUNS: runs, MODEL_PATH: path, MODEL_REPLAY: replay } = process.env;
const usualRuns = isFull ? 70 : 20;
const mostCommands = 100;
const slots = 8;
const mostRounds = 10;

test('whatever is asked and whatever goes wrong, what must be there is there in the end, once, with its bytes', async t => {
  const directory = memoryDirectory(t);
  let stores = 0;
  let count = 0;
  const script = commands([event.map(found => toCommand(found, () => count++))], {
    maxCommands: mostCommands,
    size: 'max',
    ...(replay !== undefined && { replayPath: replay }),
  });
  const property = asyncProperty(script, nat(), async (steps, faultSeed) => {
    const world = await openWorld(t, join(directory, `${stores++}.sqlite`), faultSeed);
    const model = createModel();
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
    numRuns: runs === undefined ? usualRuns : Number(runs),
    ...(path !== undefined && { path }),
  });
  t.diagnostic(`${count} commands`);
  if (runs === undefined && path === undefined) assert.ok(count >= 25 * usualRuns, `only ${count} commands`);
});

/** A directory in memory where there is such a thing: what the disk loses is not looked at here. */
function memoryDirectory(t: TestContext): string {
  const parent = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
  const directory = mkdtempSync(join(parent, 'fairlead-model-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Nothing goes wrong any more: what is open is asked again, and then nothing is left unfinished. */
async function finish(model: Model, world: World): Promise<void> {
  await world.calm();
  const gateway = world.gateway(0);
  await gateway.recovery.sweep();
  // On a busy machine a gateway may stand still for as long as its claims hold, and then leaves the storage alone.
  for (let rounds = 0; model.open.size > 0 && rounds < mostRounds; rounds++)
    for (const operation of model.open.values()) await askOnce(operation, model, { world, at: 0 });
  assert.deepEqual([...model.open.values()], []);
  assert.equal(await gateway.recovery.sweep(), 0);
}

/** The model, the rows and the storage hold the same. */
async function assertSame(model: Model, world: World): Promise<void> {
  const { storage, attached } = world;
  const volumes = await listAll(world.gateway(1));
  const ids = [...model.volumes.keys()].sort();
  const states = volumes.map(({ id, state, pending }) => ({ id, state, pending }));
  assert.deepEqual(
    states,
    ids.map(id => ({ id, state: 'ready', pending: undefined })),
  );
  assert.deepEqual((await Array.fromAsync(storage.list?.() ?? [])).sort(), ids);
  for (const { id, sizeBytes, attachments, mutableParameters, topology } of volumes) {
    const { size, node, tier, content, zone } = model.volumes.get(id) ?? assert.fail(id);
    assert.deepEqual(topology, [{ zone }], id);
    assert.equal(sizeBytes, size * mebibyte, id);
    assert.equal(await sizeOf(world, id), sizeBytes, id);
    const nodes = node === undefined ? [] : [node];
    assert.deepEqual(
      attachments.map(({ nodeId }) => nodeId),
      nodes,
    );
    assert.deepEqual([...(attached.get(id) ?? [])], nodes, id);
    assert.equal(mutableParameters?.['tier'], tier, id);
    assert.equal(hashOf(world, id), hashOfContent(content), `bytes of ${id}`);
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
  assert.deepEqual((await Array.fromAsync(world.storage.snapshots?.list?.() ?? [])).sort(), ids);
  for (const snapshot of listed) await assertHolds(world, snapshot, known.get(snapshot.id));
}

async function assertHolds(
  world: World,
  { id, volumeId, sizeBytes, state, topology }: Snapshot,
  known?: ModelSnapshot,
) {
  assert.ok(known, id);
  assert.deepEqual([volumeId, sizeBytes, state], [known.of, known.size * mebibyte, 'ready'], id);
  assert.deepEqual(topology, [{ zone: known.zone }], id);
  const source = { kind: 'snapshot', snapshot: { id, volumeId, sizeBytes } } as const;
  const bounds = { requiredBytes: sizeBytes, limitBytes: 0 };
  await world.storage.create({
    id: 'a.probe',
    nonce: 'probe',
    ...bounds,
    parameters: {},
    capabilities: [],
    source,
  });
  assert.equal(hashOf(world, 'a.probe'), hashOfContent(known.content), id);
  await world.storage.delete({ id: 'a.probe' });
}

/** What the storage says when it is asked to grow a volume to no size. */
async function sizeOf({ storage }: World, id: string): Promise<number | undefined> {
  const nothing = { requiredBytes: 0, limitBytes: 0 };
  return (await storage.expand?.({ id, sizeBytes: 0, parameters: {} }, nothing))?.sizeBytes;
}

function hashOf({ storage }: World, id: string): string {
  return createHash('sha256')
    .update(storage.read(id, 0, slots * slotBytes))
    .digest('hex');
}

function hashOfContent(content: Content): string {
  const bytes = new Uint8Array(slots * slotBytes);
  for (const [slot, value] of content) bytes[slot * slotBytes] = value;
  return createHash('sha256').update(bytes).digest('hex');
}
