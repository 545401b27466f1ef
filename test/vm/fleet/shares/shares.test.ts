import assert from 'node:assert/strict';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { untilAvailable } from '../../../harness/csi-serving.ts';
import { whyNoZfs } from '../../../zfs/zfs.ts';
import { whyNoMachine } from '../../packages.ts';
import { openFleet, type MachineServant, type Servant } from '../fleet.ts';
import { requireNothingLeft, until, writtenOf, type Stage } from '../scenarios.ts';

const MiB = 2 ** 20;
const skip = whyNoMachine();
const capabilities = [{ accessType: 'mount', accessMode: 'MULTI_NODE_MULTI_WRITER' }];

const boxes = [
  { role: 'share-box', shares: 'directories', why: skip },
  {
    role: 'zfs-share-box',
    shares: 'filesystems of ZFS',
    why: skip ?? whyNoZfs,
  },
] as const;

for (const { role, shares, why } of boxes)
  test(`a box exports ${shares} to two nodes`, why === undefined ? {} : { skip: why }, async t => {
    const fleet = openFleet(t, 2);
    const disk = join(fleet.directory, 'disk');
    writeFileSync(disk, '');
    truncateSync(disk, 1_024 * MiB);
    const startBox = () => fleet.startBox(disk, role);
    const [box, one, two] = await Promise.all([startBox(), fleet.startPeer(1), fleet.startPeer(2)]);
    const keys = await box.ask('keys');
    const ids = await Promise.all([one, two].map(node => node.ask<string>('start', keys)));
    for (const [index, id] of ids.entries())
      await box.ask('putNode', id, { addresses: [`10.77.${index + 1}.2`] });
    const stage: Stage = { box, nodes: [one, two], ids: [ids[0] ?? '', ids[1] ?? ''] };
    await t.test('a node that writes is cut off by a detach, and another one that writes goes on', () =>
      cutOff(stage, { name: 'fenced' }),
    );
    await t.test('no write lands of a node that was paused meanwhile, even if it gets the volume again', () =>
      cutOff(stage, { name: 'paused', isPaused: true }),
    );
    await t.test('a node that loses one of its volumes goes on with the other, and keeps its locks', () =>
      loseOne(stage),
    );
    await t.test('a reader reads what another node writes, and writes nothing', () => readOnly(stage));
    if (role === 'zfs-share-box')
      await t.test('a full volume fails the writes of its nodes, and another volume goes on', () =>
        fillUp(stage),
      );
    await t.test('a box serves its nodes again after a power cut, and no pod sees an error', () =>
      losePower(t, stage, startBox),
    );
  });

type Writer = { readonly box: Servant; readonly node: MachineServant; readonly id: string };

/** Mounts a volume on a node and writes a file of the node there, each line durable. */
async function startWriting({ box, node, id }: Writer, name: string, file: string): Promise<void> {
  await node.ask('bringUp', name, await box.ask('attach', name, id, 'share'), 'share');
  await node.ask('writeFile', name, file);
  await goesOn(node, name);
}

/** Returns once the node has written 10 more lines. */
async function goesOn(node: Servant, name: string): Promise<void> {
  const before = await writtenOf(node, name);
  await until(async () => (await writtenOf(node, name)) > before + 10);
}

/** Returns once the pod that writes has got an error of the volume. */
async function fails(node: Servant, name: string): Promise<void> {
  await until(async () => (await node.ask<{ fault: string }>('written', name)).fault !== '');
}

type CutOff = { readonly name: string; readonly isPaused?: boolean };

async function cutOff(
  { box, nodes: [one, two], ids }: Stage,
  { name, isPaused = false }: CutOff,
): Promise<void> {
  await box.ask('create', name, 'shares', { requiredBytes: 64 * MiB, capabilities });
  await startWriting({ box, node: one, id: ids[0] }, name, 'one');
  await startWriting({ box, node: two, id: ids[1] }, name, 'two');
  if (isPaused) await one.pause();
  await box.ask('detach', name, ids[0]);
  const content = await box.ask<string>('read', name, 'one');
  assert.ok(content.length > 10);
  await goesOn(two, name);
  if (isPaused) {
    await box.ask('attach', name, ids[0], 'share');
    await one.resume();
  }
  await fails(one, name);
  await goesOn(two, name);
  assert.equal(await box.ask('read', name, 'one'), content);
  await one.ask('takeDown', name);
  if (isPaused) await startWriting({ box, node: one, id: ids[0] }, name, 'again');
  await clear({ box, nodes: [one, two], ids }, isPaused ? [name] : [], name);
}

/** Takes the volume down where it is still attached, and deletes it. */
async function clear(
  { box, nodes: [one, two], ids }: Stage,
  alsoOnOne: readonly string[],
  name: string,
): Promise<void> {
  for (const [node, id] of [
    ...(alsoOnOne.length > 0 ? [[one, ids[0]] as const] : []),
    [two, ids[1]] as const,
  ]) {
    await node.ask('stopWriting', name);
    await node.ask('takeDown', name);
    // A gateway serves while a slow pool is not open yet.
    await untilAvailable(() => box.ask('detach', name, id));
  }
  await box.ask('delete', name);
  await requireNothingLeft({ box, nodes: [one, two] });
}

async function loseOne({ box, nodes, ids: [id] }: Stage): Promise<void> {
  const [node] = nodes;
  for (const name of ['lost', 'kept']) {
    await box.ask('create', name, 'shares', { requiredBytes: 64 * MiB, capabilities });
    await startWriting({ box, node, id }, name, 'lines');
  }
  const path = await node.ask<string>('pathOf', 'kept');
  const lock = `exec 9>"$0/lock"; flock 9; until [ -e "$0/end" ]; do echo line >&9; sleep 0.1; done`;
  const locked = node.ask('run', 'sh', ['-ec', lock, path]);
  await until(async () => (await box.ask<string>('read', 'kept', 'lock').catch(() => '')) !== '');
  await box.ask('detach', 'lost', id);
  const content = await box.ask<string>('read', 'lost', 'lines');
  await fails(node, 'lost');
  await goesOn(node, 'kept');
  assert.equal(await box.ask('read', 'lost', 'lines'), content);
  await node.ask('takeDown', 'lost');
  await node.ask('run', 'touch', [`${path}/end`]);
  await locked;
  await node.ask('stopWriting', 'kept');
  await node.ask('takeDown', 'kept');
  await box.ask('detach', 'kept', id);
  for (const name of ['lost', 'kept']) await box.ask('delete', name);
  await requireNothingLeft({ box, nodes });
}

async function readOnly({ box, nodes: [one, two], ids }: Stage): Promise<void> {
  const name = 'read';
  await box.ask('create', name, 'shares', { requiredBytes: 64 * MiB, capabilities });
  await startWriting({ box, node: one, id: ids[0] }, name, 'lines');
  await two.ask('bringUp', name, await box.ask('attach', name, ids[1], 'share to read'), 'share to read');
  assert.ok((await two.ask<number>('linesOf', name)) > 0);
  const path = await two.ask<string>('pathOf', name);
  await assert.rejects(two.ask('run', 'sh', ['-ec', ': > "$0/new"', path]), /Read-only file system/);
  await two.ask('run', 'mount', ['-o', 'remount,rw', path]).catch(() => {});
  await assert.rejects(two.ask('run', 'sh', ['-ec', ': > "$0/new"', path]), /Read-only file system/);
  await one.ask('stopWriting', name);
  await one.ask('takeDown', name);
  await box.ask('detach', name, ids[0]);
  await two.ask('takeDown', name);
  await box.ask('detach', name, ids[1]);
  await box.ask('delete', name);
  await requireNothingLeft({ box, nodes: [one, two] });
}

async function fillUp({ box, nodes: [one, two], ids }: Stage): Promise<void> {
  for (const name of ['full', 'beside'])
    await box.ask('create', name, 'shares', { requiredBytes: 16 * MiB, capabilities });
  await startWriting({ box, node: two, id: ids[1] }, 'beside', 'lines');
  const users = [
    [one, ids[0]],
    [two, ids[1]],
  ] as const;
  for (const [node, id] of users)
    await node.ask('bringUp', 'full', await box.ask('attach', 'full', id, 'share'), 'share');
  const fill = 'dd if=/dev/urandom of="$0/$(hostname)" bs=1M count=32 conv=fsync';
  for (const [node] of users)
    await assert.rejects(
      node.ask('run', 'sh', ['-ec', fill, await node.ask('pathOf', 'full')]),
      /Disk quota exceeded/,
    );
  await goesOn(two, 'beside');
  await two.ask('stopWriting', 'beside');
  await two.ask('takeDown', 'beside');
  await box.ask('detach', 'beside', ids[1]);
  for (const [node, id] of users) {
    await node.ask('takeDown', 'full');
    await box.ask('detach', 'full', id);
  }
  for (const name of ['full', 'beside']) await box.ask('delete', name);
  await requireNothingLeft({ box, nodes: [one, two] });
}

async function losePower(t: TestContext, stage: Stage, restart: () => Promise<Servant>): Promise<void> {
  const { box, nodes, ids } = stage;
  const name = 'power';
  await box.ask('create', name, 'shares', { requiredBytes: 64 * MiB, capabilities });
  for (const [index, node] of nodes.entries())
    await startWriting({ box, node, id: ids[index] ?? '' }, name, `file${index}`);
  const durable = await Promise.all(nodes.map(node => writtenOf(node, name)));
  await box.end();
  stage.box = await restart();
  t.diagnostic(
    `the gateway served ${Math.round(await stage.box.ask<number>('startedMs'))} ms after its start`,
  );
  for (const [index, node] of nodes.entries()) {
    await goesOn(node, name);
    const lines = await stage.box.ask<string>('read', name, `file${index}`);
    assert.ok(lines.split('\n').length > (durable[index] ?? 0) + 10);
  }
  await clear(stage, [name], name);
}
