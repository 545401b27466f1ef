import assert from 'node:assert/strict';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { whyNoMachine } from '../packages.ts';
import { openFleet, type Servant } from './fleet.ts';

const MiB = 2 ** 20;
const skip = whyNoMachine();

/** A storage server and two nodes, each a machine of its own. */
type Stage = {
  readonly box: Servant;
  readonly nodes: readonly [Servant, Servant];
  readonly ids: readonly [string, string];
};

test('a box that exports its images to two nodes', skip === undefined ? {} : { skip }, async t => {
  const fleet = openFleet(t, 2);
  const disk = join(fleet.directory, 'disk');
  writeFileSync(disk, '');
  truncateSync(disk, 2_048 * MiB);
  const [box, one, two] = await Promise.all([fleet.startBox(disk), fleet.startPeer(1), fleet.startPeer(2)]);
  const keys = await box.ask('keys');
  const ids = await Promise.all([one, two].map(node => node.ask<string>('start', keys)));
  for (const id of ids) await box.ask('putNode', id);
  const stage: Stage = { box, nodes: [one, two], ids: [ids[0] ?? '', ids[1] ?? ''] };
  await t.test('of a node that writes and is cut off nothing lands after the answer', () =>
    cutOff(stage, { name: 'fenced' }),
  );
  await t.test('nor of one that stood still meanwhile, and goes on', () =>
    cutOff(stage, { name: 'paused', isPaused: true }),
  );
});

type Cut = { readonly name: string; readonly isPaused?: boolean };

async function cutOff(
  { box, nodes: [one, two], ids }: Stage,
  { name, isPaused = false }: Cut,
): Promise<void> {
  await startWriting({ box, one, ids }, 'nvme-tcp', name);
  if (isPaused) await one.pause();
  await box.ask('detach', name, ids[0]);
  const content = await box.ask('hash', name, 'nvme-tcp');
  await two.ask('bringUp', name, await box.ask('attach', name, ids[1], 'block'), 'block');
  if (isPaused) await one.resume();
  await one.ask('giveUpSoon');
  assert.deepEqual(await one.ask('rawEnd', name), [7, null]);
  assert.equal(await box.ask('hash', name, 'nvme-tcp'), content);
  await clear({ box, nodes: [one, two], ids }, name);
}

type Writing = Pick<Stage, 'box' | 'ids'> & { readonly one: Servant };

/** Returns once the first node writes to the volume without pause. */
async function startWriting({ box, one, ids }: Writing, pool: string, name: string): Promise<void> {
  await box.ask('create', name, pool, { requiredBytes: 32 * MiB });
  await one.ask('bringUp', name, await box.ask('attach', name, ids[0], 'block'), 'block');
  const empty = await box.ask('hash', name, pool);
  await one.ask('writeRaw', name);
  await until(async () => (await box.ask('hash', name, pool)) !== empty);
}

/** The first node lost the volume, the second has it. */
async function clear({ box, nodes: [one, two], ids }: Stage, name: string): Promise<void> {
  await one.ask('takeDown', name);
  await two.ask('takeDown', name);
  await box.ask('detach', name, ids[1]);
  assert.deepEqual(await box.ask('targetsLeft'), []);
  for (const node of [one, two]) assert.deepEqual(await node.ask('connectionsLeft'), []);
}

/** Waits for a state for as long as it takes. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(100);
}
