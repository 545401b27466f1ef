import assert from 'node:assert/strict';
import type { AsyncCommand } from 'fast-check';
import { Problem, problemTable, type ProblemCode } from '../../../src/api/problem.ts';
import type { Volume } from '../../../src/api/volume.ts';
import { clusters, mounted, volumeSpec, type Gateway } from '../gateway.ts';
import { areApart, type Model } from './model.ts';
import type { Event, Operation, Zone } from './operations.ts';
import { toBytes, type ModelStorage } from './storage.ts';
import { crash, type World } from './world.ts';

/** The distance of slots. */
export const slotBytes = 16_384;

export type Command = AsyncCommand<Model, World>;

/** Makes an event into a command; calls `count` when it runs. */
export function toCommand(event: Event, count: () => void): Command {
  return {
    check: () => true,
    async run(model, world) {
      count();
      await play(event, model, world);
      for (const [id, nodes] of await world.storage.attached())
        assert.ok(nodes.size <= 1, `"${id}" is open to ${[...nodes].join(' and ')}`);
    },
    toString: () => JSON.stringify(event),
  };
}

async function play(event: Event, model: Model, world: World): Promise<void> {
  const { at } = event;
  if (event.kind === 'sweep') await sweep(world, at);
  if (event.kind === 'list') await checkList(model, world.gateway(at));
  if (event.kind === 'write') await write(event, model, world);
  if (event.kind === 'pair') await askBoth(event.operations, model, world);
  if (event.kind === 'ask' && event.crash) world.crashAt(at, event.crash);
  if (event.kind === 'ask') await askOnce(event.operation, model, { world, at });
  if (event.kind === 'ask' && event.crash) await world.restart(at);
  // A hanging gateway is ended and replaced.
  for (const hung of [0, 1].filter(world.isHung)) await world.restart(hung);
}

type Target = { readonly world: World; readonly at: number };

async function sweep(world: World, at: number): Promise<void> {
  await world.unlessHung(at, world.gateway(at).recovery.sweep()).catch((error: unknown) => {
    if (error !== crash) throw error;
  });
}

/** Makes a request, or first an open request that it needs; fails unless the model allows the outcome. */
export async function askOnce(wanted: Operation, model: Model, target: Target): Promise<void> {
  const operation = model.next(wanted);
  const expected = model.expect(operation);
  settle(model, { operation, expected, ended: [await endOf(operation, target)] });
}

/** Sends requests to both gateways at once if they are equal or independent; otherwise one after the other. */
async function askBoth(
  [one, other]: readonly [Operation, Operation],
  model: Model,
  world: World,
): Promise<void> {
  const [first, second] = [model.next(one), model.next(other)];
  const targets = [
    { world, at: 0 },
    { world, at: 1 },
  ] as const;
  const isSame = JSON.stringify(first) === JSON.stringify(second);
  if (!isSame && !areApart(first, second)) {
    await askOnce(one, model, targets[0]);
    return askOnce(other, model, targets[1]);
  }
  const expected = [model.expect(first), model.expect(second)] as const;
  const [a, b] = await Promise.all([endOf(first, targets[0]), endOf(second, targets[1])]);
  if (isSame) return settle(model, { operation: first, expected: expected[0], ended: [a, b] });
  settle(model, { operation: first, expected: expected[0], ended: [a] });
  settle(model, { operation: second, expected: expected[1], ended: [b] });
}

/** The outcome of a request: the code of a final failure, or `open` if it may or may not be done. */
type Outcome = 'ok' | 'open' | ProblemCode;

type AnsweredOperation = {
  readonly operation: Operation;
  readonly expected: 'ok' | ProblemCode;
  /** The outcome from each requested gateway. */
  readonly ended: readonly Outcome[];
};

function settle(model: Model, { operation, expected, ended }: AnsweredOperation): void {
  for (const end of ended) if (end !== 'open') assert.equal(end, expected, JSON.stringify(operation));
  if (expected !== 'ok') return;
  if (ended.includes('open')) model.leaveOpen(operation);
  else model.finish(operation);
}

async function endOf(operation: Operation, { world, at }: Target): Promise<Outcome> {
  try {
    await world.unlessHung(at, ask(operation, world.gateway(at), world.storage));
    return 'ok';
  } catch (error) {
    if (error === crash) return 'open';
    if (!(error instanceof Problem)) throw error;
    return problemTable[error.code].final ? error.code : 'open';
  }
}

async function ask(operation: Operation, gateway: Gateway, storage: ModelStorage): Promise<unknown> {
  const { mutable, readonly, nodeIdOf = name => name } = storage;
  const { id, kind } = operation;
  const [, name = ''] = id.split('.');
  if (kind === 'delete') return gateway.volumes.delete(clusters.a, id);
  if (kind === 'uncut') return gateway.snapshots.delete(clusters.a, id);
  if (kind === 'ungroup') return gateway.groups.delete(clusters.a, id);
  if (kind === 'group') return gateway.groups.create(clusters.a, id, { name, volumeIds: [...operation.of] });
  if (kind === 'snapshot')
    return gateway.snapshots.create(clusters.a, id, {
      name,
      volumeId: operation.of,
      ...inZone(operation.zone),
    });
  if (kind === 'modify') return gateway.changes.modify(clusters.a, id, { [mutable]: operation.tier });
  const requiredBytes = 'size' in operation ? toBytes(storage, operation.size) : 0;
  if (kind === 'expand') return gateway.changes.expand(clusters.a, id, { requiredBytes });
  if (kind === 'create') {
    const source = operation.from === undefined ? undefined : sourceOf(operation.from);
    const spec = { requiredBytes, ...(source && { source }), ...inZone(operation.zone) };
    return gateway.volumes.create(clusters.a, id, volumeSpec(name, spec));
  }
  const key = {
    cluster: { ...clusters.a, acceptAnyNode: true },
    volumeId: id,
    nodeId: nodeIdOf(operation.node),
  };
  if (kind === 'detach') return gateway.attachments.detach(key);
  return gateway.attachments.attach(key, { capability: mounted, readonly });
}

function inZone(zone: Zone | undefined) {
  return zone && { topology: { requisite: [{ zone, rack: '' }] } };
}

function sourceOf(id: string) {
  return id.startsWith('a.s')
    ? ({ kind: 'snapshot', snapshotId: id } as const)
    : ({ kind: 'volume', volumeId: id } as const);
}

async function write(
  { id, slot, value }: Event & { kind: 'write' },
  model: Model,
  world: World,
): Promise<void> {
  const volume = model.volumes.get(id);
  if (!volume || !model.isWritable(id)) return;
  await world.storage.write(id, slot * slotBytes, Uint8Array.of(value));
  model.volumes.set(id, { ...volume, content: new Map(volume.content).set(slot, value) });
}

/** Reads all pages of the list: each volume once, in order. */
export async function listAll({ volumes }: Gateway): Promise<readonly Volume[]> {
  const all: Volume[] = [];
  let pageToken: string | undefined;
  do {
    const page = await volumes.list(clusters.a, { limit: 2, pageToken });
    all.push(...page.volumes);
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
  const ids = all.map(({ id }) => id);
  assert.deepEqual(ids, [...new Set(ids)].sort());
  return all;
}

/** Fails unless the list has exactly the volumes that must exist. */
async function checkList(model: Model, gateway: Gateway): Promise<void> {
  const listed = new Map((await listAll(gateway)).map(volume => [volume.id, volume]));
  for (const id of new Set([...listed.keys(), ...model.volumes.keys()])) {
    if (model.open.has(`life ${id}`)) continue;
    assert.equal(listed.get(id)?.state, model.volumes.has(id) ? 'ready' : undefined, id);
  }
}
