import assert from 'node:assert/strict';
import type { AsyncCommand } from 'fast-check';
import { Problem, problemTable } from '../../../src/api/problem.ts';
import type { Volume } from '../../../src/api/resources.ts';
import { mounted, volumeSpec } from '../harness.ts';
import type { Model } from './model.ts';
import type { Event, Operation } from './operations.ts';
import { crash, type Life, type World } from './world.ts';

/** Bytes of a size unit, and from one slot to the next. */
export const mebibyte = 2 ** 20;
export const slotBytes = 16_384;

type Command = AsyncCommand<Model, World>;

/** The event as a command; `count` is told that it ran. */
export function toCommand(event: Event, count: () => void): Command {
  return {
    check: () => true,
    async run(model, world) {
      count();
      await play(event, model, world);
      for (const [id, nodes] of world.ways)
        assert.ok(nodes.size <= 1, `"${id}" is open to ${[...nodes].join(' and ')}`);
    },
    toString: () => JSON.stringify(event),
  };
}

async function play(event: Event, model: Model, world: World): Promise<void> {
  const gateway = world.gateway(event.at);
  if (event.kind === 'sweep') await gateway.recovery.sweep();
  if (event.kind === 'list') await checkList(model, gateway);
  if (event.kind === 'write') write(event, model, world);
  if (event.kind !== 'ask') return;
  if (event.crash) world.crashAt(event.at, event.crash);
  await askOnce(event.operation, model, gateway);
  if (event.crash) await world.restart(event.at);
}

/** Asks, or asks first for what is open of what it needs; what comes of it is what the model allows. */
export async function askOnce(wanted: Operation, model: Model, gateway: Life): Promise<void> {
  const operation = model.next(wanted);
  const expected = model.expect(operation);
  const text = JSON.stringify(operation);
  try {
    await ask(operation, gateway);
  } catch (error) {
    const mayRun = error === crash || (error instanceof Problem && !problemTable[error.code].final);
    if (mayRun && expected === 'ok') model.leaveOpen(operation);
    if (!mayRun) assert.equal(error instanceof Problem ? error.code : error, expected, `${text}: ${error}`);
    return;
  }
  assert.equal('ok', expected, text);
  model.finish(operation);
}

async function ask(operation: Operation, gateway: Life): Promise<unknown> {
  const { id, kind } = operation;
  const [, name = ''] = id.split('.');
  if (kind === 'delete') return gateway.volumes.delete('a', id);
  if (kind === 'uncut') return gateway.snapshots.delete('a', id);
  if (kind === 'snapshot') return gateway.snapshots.create('a', id, { name, volumeId: operation.of });
  if (kind === 'modify') return gateway.modification.modify('a', id, { tier: operation.tier });
  const requiredBytes = 'size' in operation ? operation.size * mebibyte : 0;
  if (kind === 'expand') return gateway.expansion.expand('a', id, { requiredBytes });
  if (kind === 'create') {
    const source = operation.from === undefined ? undefined : sourceOf(operation.from);
    return gateway.volumes.create('a', id, volumeSpec(name, { requiredBytes, ...(source && { source }) }));
  }
  const key = { cluster: { name: 'a', acceptAnyNode: true }, volumeId: id, nodeId: operation.node };
  if (kind === 'detach') return gateway.attachments.detach(key);
  return gateway.attachments.attach(key, { capability: mounted, readonly: false });
}

function sourceOf(id: string) {
  return id.startsWith('a.s')
    ? ({ kind: 'snapshot', snapshotId: id } as const)
    : ({ kind: 'volume', volumeId: id } as const);
}

function write({ id, slot, value }: Event & { kind: 'write' }, model: Model, world: World): void {
  const volume = model.volumes.get(id);
  if (!volume || !model.isWritable(id)) return;
  world.storage.write(id, slot * slotBytes, Uint8Array.of(value));
  model.volumes.set(id, { ...volume, content: new Map(volume.content).set(slot, value) });
}

/** All pages of the list, joined: each volume once, in order. */
export async function listAll({ volumes }: Life): Promise<readonly Volume[]> {
  const all: Volume[] = [];
  let pageToken: string | undefined;
  do {
    const page = await volumes.list('a', { limit: 2, pageToken });
    all.push(...page.volumes);
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
  const ids = all.map(({ id }) => id);
  assert.deepEqual(ids, [...new Set(ids)].sort());
  return all;
}

/** What must be there is listed as such, what must not be is not. */
async function checkList(model: Model, gateway: Life): Promise<void> {
  const listed = new Map((await listAll(gateway)).map(volume => [volume.id, volume]));
  for (const id of new Set([...listed.keys(), ...model.volumes.keys()])) {
    if (model.open.has(`life ${id}`)) continue;
    assert.equal(listed.get(id)?.state, model.volumes.has(id) ? 'ready' : undefined, id);
  }
}
