import assert from 'node:assert/strict';
import { existsSync, readdirSync, renameSync, statSync, watch } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import { poll } from '../../../src/lib/concurrency.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { isSocketAnswered, lockSocketDirectory } from '../../../src/lib/unix-socket.ts';
import type { UnaryCall } from '../../../src/csi/call.ts';
import { exec } from '../../../src/lib/exec.ts';
import { clientOf, serveCsi } from '../../harness/csi-serving.ts';
import { temporaryDirectory } from '../../harness/temporary.ts';

const attached = { volume_id: 'a.x', node_id: 'n' };

test('a server answers on its socket, which only owner and group may use', async t => {
  const { socketPath, csi } = await serveCsi(t);
  assert.equal((await csi.identity.GetPluginInfo({})).name, 'csi.test');
  assert.equal(statSync(socketPath).mode & 0o777, 0o660);
});

test('a socket that a killed instance left behind is replaced', async t => {
  const socketPath = join(temporaryDirectory(t), 'csi.sock');
  const source = `require('net').createServer().listen(${JSON.stringify(socketPath)}, () => process.kill(process.pid, 'SIGKILL'))`;
  await exec(process.execPath, ['-e', source], { timeoutMs: 20_000 });
  assert.ok(statSync(socketPath).isSocket());
  assert.equal(await isSocketAnswered(socketPath), false);
  const { csi } = await serveCsi(t, { socketPath });
  await csi.identity.Probe({});
});

test('a running instance keeps its socket', async t => {
  const { socketPath, csi } = await serveCsi(t);
  await assert.rejects(serveCsi(t, { socketPath }), {
    message: `socket "${socketPath}" is in use by a live instance`,
  });
  await csi.identity.Probe({});
});

test('a file, a directory or a link in place of the socket stays as it is', async t => {
  const dir = temporaryDirectory(t);
  const at = (name: string): string => join(dir, name);
  await writeFile(at('file.sock'), 'precious');
  await mkdir(at('directory.sock'));
  await symlink(at('other.sock'), at('link.sock'));
  for (const name of readdirSync(dir)) {
    const message = `"${at(name)}" exists and is not a socket`;
    await assert.rejects(serveCsi(t, { socketPath: at(name) }), { message });
  }
  assert.equal(await readFile(at('file.sock'), 'utf8'), 'precious');
  assert.deepEqual(readdirSync(dir).length, 3);
});

test('a missing directory is named, and a path that is too long is refused', async t => {
  const dir = temporaryDirectory(t);
  const missing = join(dir, 'missing');
  await assert.rejects(serveCsi(t, { socketPath: join(missing, 'csi.sock') }), {
    message: `directory "${missing}" of socket "${join(missing, 'csi.sock')}" does not exist; create it`,
  });
  const tooLong = join(dir, `${'x'.repeat(108 - dir.length)}.sock`);
  await assert.rejects(serveCsi(t, { socketPath: tooLong }), /socket "/);
  assert.deepEqual(readdirSync(dir), []);
});

test('a close removes the socket and leaves no other file, and the path can be bound again', async t => {
  const dir = temporaryDirectory(t);
  const socketPath = join(dir, 'csi.sock');
  for (let round = 0; round < 3; round++) {
    const { server } = await serveCsi(t, { socketPath });
    assert.deepEqual(readdirSync(dir), ['csi.sock']);
    await server.close();
    assert.deepEqual(readdirSync(dir), []);
  }
});

test('a close unlinks the socket without renaming it, because kubelet deregisters a driver only then', async t => {
  const { socketPath, server } = await serveCsi(t);
  const names: (string | null)[] = [];
  const watcher = watch(dirname(socketPath), (_, name) => names.push(name));
  t.after(() => watcher.close());
  await server.close();
  assert.ok(await poll(() => names.length > 0 || undefined, { everyMs: 5, timeoutMs: 60_000 }));
  assert.deepEqual([...new Set(names)], [basename(socketPath)]);
});

test('a close waits for a starting instance, and leaves the socket of an instance that took its path', async t => {
  const dir = temporaryDirectory(t);
  const [socketPath, other] = [join(dir, 'csi.sock'), join(dir, 'other.sock')];
  const { server } = await serveCsi(t, { socketPath });
  await serveCsi(t, { socketPath: other });
  const release = await lockSocketDirectory(socketPath, silentLog);
  const closed = server.close();
  assert.ok(existsSync(socketPath));
  renameSync(other, socketPath);
  release();
  await closed;
  assert.ok(await isSocketAnswered(socketPath));
});

test('a close that cannot lock the directory reports that and has ended all calls', async t => {
  const dir = temporaryDirectory(t);
  const socketPath = join(dir, 'csi.sock');
  const held = Promise.withResolvers<object>();
  const begun = Promise.withResolvers<void>();
  const ControllerUnpublishVolume = (): Promise<object> => {
    begun.resolve();
    return held.promise;
  };
  const { server, csi } = await serveCsi(t, { socketPath, controller: { ControllerUnpublishVolume } });
  const answer = csi.controller.ControllerUnpublishVolume(attached);
  await begun.promise;
  const { PATH } = process.env;
  process.env['PATH'] = dir;
  const closed = assert.rejects(server.close(), /flock/);
  process.env['PATH'] = PATH;
  held.resolve({});
  assert.deepEqual(await answer, {});
  await closed;
  assert.equal(await isSocketAnswered(socketPath), false);
});

test('an RPC without a handler is UNIMPLEMENTED, unary or streaming', async t => {
  const { csi } = await serveCsi(t);
  await assert.rejects(csi.controller.ControllerUnpublishVolume(attached), { code: 'UNIMPLEMENTED' });
  const stream = csi.snapshotMetadata.GetMetadataDelta({});
  await assert.rejects(Array.fromAsync(stream), { code: 'UNIMPLEMENTED' });
});

test('a running call is answered before the server is closed', async t => {
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<object>();
  const ControllerUnpublishVolume = (): Promise<object> => {
    begun.resolve();
    return held.promise;
  };
  const { server, csi } = await serveCsi(t, { controller: { ControllerUnpublishVolume } });
  const answer = csi.controller.ControllerUnpublishVolume(attached);
  await begun.promise;
  const closed = server.close();
  held.resolve({});
  assert.deepEqual(await answer, {});
  await closed;
});

test('a call that never ends does not delay the close, and its signal is aborted', async t => {
  const begun = Promise.withResolvers<AbortSignal>();
  const ControllerUnpublishVolume = (_request: never, { signal }: UnaryCall): Promise<object> => {
    begun.resolve(signal);
    return new Promise(() => {});
  };
  const { server, csi } = await serveCsi(t, { controller: { ControllerUnpublishVolume } });
  const answer = csi.controller.ControllerUnpublishVolume(attached);
  const refused = assert.rejects(answer, { name: 'Problem' });
  const signal = await begun.promise;
  await server.close();
  await refused;
  assert.equal(signal.aborted, true);
});

test('a call of a socket that nothing serves names the socket', async t => {
  const socket = join(temporaryDirectory(t), 'missing.sock');
  await assert.rejects(clientOf(t, socket).identity.Probe({}), {
    code: 'UNAVAILABLE',
    detail: `nothing answers at "unix://${socket}"`,
  });
});
