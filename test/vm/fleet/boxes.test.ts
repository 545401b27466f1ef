import assert from 'node:assert/strict';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Attachment } from '../../../src/api/attachment.ts';
import { whyNoMachine } from '../packages.ts';
import { openFleet, type Servant } from './fleet.ts';

const MiB = 2 ** 20;
const skip = whyNoMachine();

/** A storage server and two nodes, each a machine of its own. */
type Stage = {
  box: Servant;
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
  for (const pool of ['nvme-tcp', 'iscsi'])
    await t.test(
      `${pool}: what one node wrote, the other reads, and a snapshot taken meanwhile is restored`,
      () => moveBetweenNodes(stage, pool),
    );
  await t.test(
    'a box that lost its power serves its nodes again: what was durable is there, and no pod sees an error',
    () => losePower(t, stage, { restart: () => fleet.startBox(disk) }),
  );
});

async function moveBetweenNodes({ box, nodes: [one, two], ids }: Stage, pool: string): Promise<void> {
  const name = `moves-${pool}`;
  await box.ask('create', name, pool, { requiredBytes: 64 * MiB });
  const attachment = await box.ask<Attachment>('attach', name, ids[0], 'mount');
  assert.ok(attachment.signature);
  // The kernel has no authentication for NVMe over TCP: nothing of such an attachment is secret.
  assert.equal(attachment.sealed !== undefined, pool === 'iscsi');
  await one.ask('bringUp', name, attachment);
  await one.ask('writeFile', name);
  await until(async () => (await writtenOf(one, name)) > 10);
  await box.ask('expand', name, 128 * MiB);
  await one.ask('expand', name, 128 * MiB);
  const before = await writtenOf(one, name);
  await box.ask('snapshot', `${name}-snapshot`, name);
  await until(async () => (await writtenOf(one, name)) > before + 10);
  await one.ask('stopWriting', name);
  const path = await one.ask<string>('pathOf', name);
  await one.ask('run', 'sh', ['-ec', 'head -c 20M /dev/urandom > "$0/bytes"; sync', path]);
  const sum = await one.ask<string>('run', 'sh', ['-ec', 'cd "$0"; sha256sum bytes lines', path]);
  await one.ask('takeDown', name);
  await box.ask('detach', name, ids[0]);

  await two.ask('bringUp', name, await box.ask('attach', name, ids[1], 'mount'));
  const there = await two.ask<string>('pathOf', name);
  assert.equal(await two.ask('run', 'sh', ['-ec', 'cd "$0"; sha256sum bytes lines', there]), sum);
  const free = await two.ask<string>('run', 'df', ['--output=size', '--block-size=1M', there]);
  assert.ok(Number(free.split('\n')[1]) > 100, free);
  await two.ask('takeDown', name);
  await box.ask('detach', name, ids[1]);

  const source = { kind: 'snapshot', snapshotId: `c.${name}-snapshot` };
  await box.ask('create', `${name}-restored`, pool, { requiredBytes: 128 * MiB, source });
  await two.ask('bringUp', `${name}-restored`, await box.ask('attach', `${name}-restored`, ids[1], 'mount'));
  assert.ok((await two.ask<number>('linesOf', `${name}-restored`)) >= before);
  await two.ask('takeDown', `${name}-restored`);
  await box.ask('detach', `${name}-restored`, ids[1]);
  assert.deepEqual(await box.ask('targetsLeft'), []);
  for (const node of [one, two]) assert.deepEqual(await node.ask('connectionsLeft'), []);
}

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

async function losePower(
  t: TestContext,
  stage: Stage,
  { restart }: { readonly restart: () => Promise<Servant> },
): Promise<void> {
  const { box, nodes, ids } = stage;
  const pods = nodes.map((node, index) => ({ node, id: ids[index], name: `live-${index}` }));
  for (const { node, id, name } of pods) {
    await box.ask('create', name, 'nvme-tcp', { requiredBytes: 64 * MiB });
    await node.ask('bringUp', name, await box.ask('attach', name, id, 'mount'));
    await node.ask('writeFile', name);
  }
  for (const { node, name } of pods) await until(async () => (await writtenOf(node, name)) > 20);
  await box.end();
  const durable = new Map<string, number>();
  for (const { node, name } of pods) durable.set(name, await writtenOf(node, name));
  stage.box = await restart();
  t.diagnostic(
    `the gateway served ${Math.round(await stage.box.ask<number>('startedMs'))} ms after its start`,
  );
  for (const { node, name } of pods)
    await until(async () => (await writtenOf(node, name)) > (durable.get(name) ?? 0) + 20);
  for (const { node, name, id } of pods) {
    await node.ask('stopWriting', name);
    const written = await writtenOf(node, name);
    await node.ask('takeDown', name);
    await stage.box.ask('detach', name, id);
    await node.ask('bringUp', name, await stage.box.ask('attach', name, id, 'mount'));
    assert.ok((await node.ask<number>('linesOf', name)) >= written);
    await node.ask('takeDown', name);
    await stage.box.ask('detach', name, id);
  }
  assert.deepEqual(await stage.box.ask('targetsLeft'), []);
}

/** How many lines of a file are durable; an error of the pod's fails the test. */
async function writtenOf(node: Servant, name: string): Promise<number> {
  const { written, fault } = await node.ask<{ written: number; fault: string }>('written', name);
  assert.equal(fault, '');
  return written;
}

/** Waits for a state for as long as it takes. */
async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await sleep(100);
}
