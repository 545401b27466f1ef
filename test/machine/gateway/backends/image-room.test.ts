import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import type { Backend } from '../../../../gateway/backend.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { newVolume } from '../../../suites/backend.ts';
import { temporaryDirectory } from '../../../harness/gateway-harness.ts';
import { isProblem } from '../../../harness/gateway-problems.ts';
import { makeVolume, MiB } from './image-pool.ts';
import { openPlugin } from '../../../harness/open-plugin.ts';

const capacityBytes = 20 * MiB;

async function open(t: TestContext, directory: string): Promise<Backend> {
  const backend = await openPlugin(backends.image, { dir: directory, capacity: capacityBytes });
  t.after(() => backend.close?.());
  return backend;
}

async function openTwo(t: TestContext): Promise<{ one: Backend; two: Backend; directory: string }> {
  const directory = temporaryDirectory(t);
  return { one: await open(t, directory), two: await open(t, directory), directory };
}

async function freeIn(backend: Backend): Promise<number | undefined> {
  return (await backend.capacity?.())?.availableBytes;
}

test('two gateways on one pool promise no more than there is', async t => {
  const { one, two } = await openTwo(t);
  const made = await Promise.allSettled(
    Array.from({ length: 40 }, (_, index) =>
      (index % 2 === 0 ? one : two).create(newVolume({ id: `a.v${index}` })),
    ),
  );
  const failed = made.filter(result => result.status === 'rejected');
  for (const { reason } of failed) assert.ok(isProblem('RESOURCE_EXHAUSTED')(reason));
  assert.equal(failed.length, 20);
  assert.deepEqual([await freeIn(one), await freeIn(two)], [0, 0]);
});

test('what one gateway makes, grows, cuts and deletes, the other counts', async t => {
  const { one, two, directory } = await openTwo(t);
  const volume = await makeVolume(one, { id: 'a.one', requiredBytes: 4 * MiB });
  assert.equal(await freeIn(two), 16 * MiB);
  await two.expand?.(volume, { requiredBytes: 15 * MiB, limitBytes: 0 });
  assert.equal(await freeIn(one), 5 * MiB);
  const tooMuch = { requiredBytes: 21 * MiB, limitBytes: 0 };
  await assert.rejects(async () => one.expand?.(volume, tooMuch), isProblem('OUT_OF_RANGE'));
  const other = newVolume({ id: 'a.other', requiredBytes: 6 * MiB });
  await assert.rejects(one.create(other), isProblem('RESOURCE_EXHAUSTED'));
  const source = { kind: 'volume', volume, attachedForWriting: false } as const;
  await assert.rejects(one.create(newVolume({ id: 'a.copy', source })), isProblem('RESOURCE_EXHAUSTED'));
  await two.delete({ id: 'a.one' });
  await one.create(other);
  assert.deepEqual([await freeIn(one), await freeIn(two)], [14 * MiB, 14 * MiB]);
  assert.deepEqual(readdirSync(join(directory, '.room')), ['changes']);
});

test('what a process that lives has promised counts, and what a dead one has does not', async t => {
  const directory = temporaryDirectory(t);
  const living = await startIdle(t);
  const dead = await startIdle(t);
  dead.kill('SIGKILL');
  await once(dead, 'exit');
  mkdirSync(join(directory, '.room'));
  symlinkSync(String(4 * MiB), join(directory, '.room', `a.one.img.${living.pid}`));
  symlinkSync(String(8 * MiB), join(directory, '.room', `a.two.img.${dead.pid}`));
  symlinkSync(String(2 * MiB), join(directory, '.room', `a.three.img.${process.pid}`));
  const backend = await open(t, directory);
  assert.equal(await freeIn(backend), 16 * MiB);
  assert.deepEqual(readdirSync(join(directory, '.room')), [`a.one.img.${living.pid}`]);
});

async function startIdle(t: TestContext): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1_000)'], { stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  return child;
}
