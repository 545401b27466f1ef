// Runs beside Ceph for `test/storage/ceph-backend.test.ts`: shuts out clients that have an image open.

import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { after, test, type TestContext } from 'node:test';
import type { KnownVolume, NodeAccess } from '../../../gateway/backend.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { makeVolume, newGroup, newSnapshot, takeSnapshot } from '../../suites/backend-fixtures.ts';
import { ask, contentOf, imageOf, requireNothingLeft, settings, watchersOf } from './cluster.ts';
import { opened, openCeph } from './pool.ts';

const mebibyte = 2 ** 20;
const waiting = { everyMs: 100, timeoutMs: 120_000 };

const clients = new Set<ChildProcess>();
after(() => {
  for (const client of clients) client.kill('SIGKILL');
  requireNothingLeft();
});

for (const isPaused of [false, true])
  test(`a client that writes${isPaused ? ', and was paused until the cluster forgot it,' : ''} is shut out before detach returns`, async t => {
    const backend = await openCeph(t);
    // More than the client writes in that time, so that it does not wrap around.
    const volume = await makeVolume(backend, { requiredBytes: 64 * mebibyte });
    await attach(volume);
    const writer = write(t, volume);
    const ended = once(writer, 'exit');
    assert.ok(await poll(() => isWritten(volume) || undefined, waiting));
    if (isPaused) await pause(writer, volume);
    await requireShutOut(volume, async () => {
      writer.kill('SIGCONT');
      const [status] = await ended;
      assert.notEqual(status, 0);
    });
    await backend.detach(volume, 'n1');
  });

test('a client that gave its lock to the deletion of a snapshot and then was paused is shut out before detach returns', async t => {
  const backend = await openCeph(t);
  const volume = await makeVolume(backend, { requiredBytes: mebibyte });
  const snapshot = await takeSnapshot(backend, newSnapshot('a.snapshot', volume));
  await attach(volume);
  const client = start(t, 'qemu-io', ['-f', 'raw', `rbd:${imageOf(volume.id)}:conf=${settings.conf}`]);
  client.stdin?.write('write -P 1 0 4k\nflush\n');
  assert.ok(await poll(() => locksOf(volume).length > 0 || undefined, waiting));
  await backend.snapshots?.delete(snapshot);
  giveLockUp(volume);
  await pause(client, volume);
  await requireShutOut(volume, async () => {
    const ended = once(client, 'exit');
    client.kill('SIGCONT');
    client.stdin?.end('write -P 2 0 4k\nflush\nquit\n');
    await ended;
  });
});

test('an open volume is not deleted, with or without snapshots', async t => {
  const backend = await openCeph(t);
  const volume = await makeVolume(backend, { requiredBytes: 8 * mebibyte });
  await attach(volume);
  const writer = write(t, volume);
  assert.ok(await poll(() => watchersOf(volume.id).length > 0 || undefined, waiting));
  await assert.rejects(backend.delete(volume), { code: 'FAILED_PRECONDITION' });
  await takeSnapshot(backend, newSnapshot('a.snapshot', volume, true));
  await assert.rejects(backend.delete(volume), { code: 'FAILED_PRECONDITION' });
  assert.equal(writer.exitCode, null, 'its write failed');
  await backend.detach(volume, 'n1');
});

test('a group of volumes during writes is taken at one point in time, or not at all', async t => {
  const backend = await openCeph(t);
  const volumes = [
    await makeVolume(backend, { id: 'a.one', requiredBytes: 8 * mebibyte }),
    await makeVolume(backend, { id: 'a.two', requiredBytes: 8 * mebibyte }),
  ];
  const members = newGroup(volumes).map(one => Object.assign(one, { attachedForWriting: true }));
  assert.equal((await backend.snapshots?.createGroup?.(members))?.length, 2);
  for (const member of members) await backend.snapshots?.delete(member);
  for (const volume of volumes) await attach(volume);
  const [first = assert.fail()] = volumes;
  write(t, first);
  assert.ok(await poll(() => watchersOf('a.one').length > 0 || undefined, waiting));
  await assert.rejects(async () => backend.snapshots?.createGroup?.(members), {
    code: 'FAILED_PRECONDITION',
  });
  for (const volume of volumes) await backend.detach(volume, 'n1');
  assert.deepEqual(await Array.fromAsync(backend.snapshots?.list?.() ?? []), []);
});

/** Starts a client that writes without pause until the test ends. */
function write(t: TestContext, { id }: KnownVolume): ChildProcess {
  const what = ['--io-type', 'write', '--io-total', '1T', '--io-threads', '1'];
  return start(t, 'rbd', ['bench', ...what, imageOf(id)]);
}

/** Starts a client that ends with the test, even if the test fails. */
function start(t: TestContext, program: string, args: readonly string[]): ChildProcess {
  const client = spawn(program, args, { stdio: ['pipe', 'ignore', 'ignore'] });
  clients.add(client);
  t.after(() => client.kill('SIGKILL'));
  return client;
}

/** Releases the lock on request, as a kernel does at once; these clients do the work for the requester instead. */
function giveLockUp(volume: KnownVolume): void {
  for (const { id, locker } of locksOf(volume)) {
    const lock = [imageOf(volume.id), id, locker];
    const { status } = spawnSync('rbd', ['--rbd-blocklist-on-break-lock=false', 'lock', 'rm', ...lock]);
    assert.equal(status, 0);
  }
}

/** Pauses a client until the cluster has forgotten it. */
async function pause(client: ChildProcess, { id }: KnownVolume): Promise<void> {
  client.kill('SIGSTOP');
  assert.ok(await poll(() => watchersOf(id).length === 0 || undefined, waiting));
}

/** Detaches the node, lets its client continue, and fails if the volume's data changes. */
async function requireShutOut(volume: KnownVolume, goOn: () => Promise<void>): Promise<void> {
  await (await opened).detach(volume, 'n1');
  const image = imageOf(volume.id);
  const before = contentOf(image);
  await goOn();
  assert.ok(contentOf(image).equals(before));
  assert.deepEqual(watchersOf(volume.id), []);
}

function isWritten({ id }: KnownVolume): boolean {
  return ask<readonly unknown[]>(`rbd diff ${imageOf(id)}`).length > 0;
}

type Lock = { readonly id: string; readonly locker: string };

function locksOf({ id }: KnownVolume): readonly Lock[] {
  return ask<readonly Lock[]>(`rbd lock ls ${imageOf(id)}`);
}

async function attach(volume: KnownVolume): Promise<void> {
  const capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' } as const;
  const access: NodeAccess = { nodeId: 'n1', attachmentId: 'x1', capability, readonly: false };
  await (await opened).attach(volume, access);
}
