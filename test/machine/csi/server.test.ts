import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { credentials } from '@grpc/grpc-js';
import { loadCsi } from '../../../src/csi/protocol.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { isSocketAnswered } from '../../../src/lib/unix-socket.ts';
import type { UnaryCall } from '../../../src/csi/call.ts';
import { exec } from '../../../src/lib/exec.ts';
import { clientOf, serveCsi, temporaryDir } from '../../harness/csi-serving.ts';

const attached = { volume_id: 'a.x', node_id: 'n' };

test('a server answers on its socket, which owner and group alone may use', async t => {
  const socketPath = join(await temporaryDir(t), 'csi.sock');
  await serveCsi(t, socketPath);
  const { name } = await clientOf(t, socketPath).identity.GetPluginInfo({});
  assert.equal(name, 'csi.test');
  assert.equal(statSync(socketPath).mode & 0o777, 0o660);
});

test('a socket that a killed instance left behind is replaced', async t => {
  const socketPath = join(await temporaryDir(t), 'csi.sock');
  const source = `require('net').createServer().listen(${JSON.stringify(socketPath)}, () => process.kill(process.pid, 'SIGKILL'))`;
  await exec(process.execPath, ['-e', source], { timeoutMs: 20_000 });
  assert.ok(statSync(socketPath).isSocket());
  assert.equal(await isSocketAnswered(socketPath), false);
  await serveCsi(t, socketPath);
  await clientOf(t, socketPath).identity.Probe({});
});

test('a live instance is not robbed of its socket', async t => {
  const socketPath = join(await temporaryDir(t), 'csi.sock');
  await serveCsi(t, socketPath);
  await assert.rejects(serveCsi(t, socketPath), {
    message: `socket "${socketPath}" is in use by a live instance`,
  });
  await clientOf(t, socketPath).identity.Probe({});
});

test('a file at the place of the socket is left as it is', async t => {
  const socketPath = join(await temporaryDir(t), 'csi.sock');
  await writeFile(socketPath, 'precious');
  await assert.rejects(serveCsi(t, socketPath), { message: `"${socketPath}" exists and is not a socket` });
  assert.equal(await readFile(socketPath, 'utf8'), 'precious');
});

test('a directory at the place of the socket is refused', async t => {
  const socketPath = join(await temporaryDir(t), 'csi.sock');
  await mkdir(socketPath);
  await assert.rejects(serveCsi(t, socketPath), /exists and is not a socket/);
});

test('a link at the place of the socket is not followed', async t => {
  const dir = await temporaryDir(t);
  const socketPath = join(dir, 'csi.sock');
  await symlink(join(dir, 'other.sock'), socketPath);
  await assert.rejects(serveCsi(t, socketPath), /exists and is not a socket/);
});

test('a directory that is missing is named', async t => {
  const dir = join(await temporaryDir(t), 'missing');
  const socketPath = join(dir, 'csi.sock');
  await assert.rejects(serveCsi(t, socketPath), {
    message: `directory "${dir}" of socket "${socketPath}" does not exist`,
  });
});

test('a path that is too long for a socket is refused and nothing is made', async t => {
  const dir = await temporaryDir(t);
  const socketPath = join(dir, `${'x'.repeat(108 - dir.length)}.sock`);
  await assert.rejects(serveCsi(t, socketPath), /socket "/);
  assert.deepEqual(readdirSync(dir), []);
});

test('the socket is gone when the server is closed, nothing else lies beside it, and it can be made again', async t => {
  const dir = await temporaryDir(t);
  const socketPath = join(dir, 'csi.sock');
  for (let round = 0; round < 3; round++) {
    const server = await serveCsi(t, socketPath);
    assert.deepEqual(readdirSync(dir), ['csi.sock']);
    await server.close();
    assert.equal(existsSync(socketPath), false);
  }
});

test('an RPC that nobody handles is UNIMPLEMENTED', async t => {
  const socketPath = join(await temporaryDir(t), 'csi.sock');
  await serveCsi(t, socketPath);
  const { controller } = clientOf(t, socketPath);
  await assert.rejects(controller.ControllerUnpublishVolume(attached), { code: 'UNIMPLEMENTED' });
});

test('a running call is answered before the server is closed', async t => {
  const socketPath = join(await temporaryDir(t), 'csi.sock');
  const begun = Promise.withResolvers<void>();
  const held = Promise.withResolvers<object>();
  const ControllerUnpublishVolume = (): Promise<object> => {
    begun.resolve();
    return held.promise;
  };
  const server = await serveCsi(t, socketPath, { controller: { ControllerUnpublishVolume } });
  const answer = clientOf(t, socketPath).controller.ControllerUnpublishVolume(attached);
  await begun.promise;
  const closed = server.close();
  held.resolve({});
  assert.deepEqual(await answer, {});
  await closed;
});

test('a call that never ends does not hold up the close, and is told to end', async t => {
  const socketPath = join(await temporaryDir(t), 'csi.sock');
  const begun = Promise.withResolvers<AbortSignal>();
  const ControllerUnpublishVolume = (_request: never, { signal }: UnaryCall): Promise<object> => {
    begun.resolve(signal);
    return new Promise(() => {});
  };
  const server = await serveCsi(t, socketPath, { controller: { ControllerUnpublishVolume } });
  const answer = clientOf(t, socketPath).controller.ControllerUnpublishVolume(attached);
  const refused = assert.rejects(answer, { name: 'Problem' });
  const signal = await begun.promise;
  await server.close();
  await refused;
  assert.equal(signal.aborted, true);
});

test('2,000 callers that connect, probe and drop leave no descriptor behind', async t => {
  const socketPath = join(await temporaryDir(t), 'csi.sock');
  await serveCsi(t, socketPath);
  await cycle(socketPath, 50);
  const before = await descriptorsOnceFlat(0);
  await cycle(socketPath, 2_000);
  const after = await descriptorsOnceFlat(before);
  assert.ok(after <= before, `${before} descriptors before, ${after} after`);
});

async function cycle(socketPath: string, count: number): Promise<void> {
  const { Identity } = loadCsi();
  for (let round = 0; round < count; round++) {
    const client = new Identity(`unix://${socketPath}`, credentials.createInsecure());
    await new Promise<void>((resolve, reject) => {
      client.Probe({}, error => (error ? reject(error) : resolve()));
    });
    client.close();
  }
}

/** The server notices a dropped connection a moment later: waits until so few are open, for a second where none is known. */
async function descriptorsOnceFlat(expected: number): Promise<number> {
  const timeoutMs = expected === 0 ? 1_000 : 30_000;
  await poll(() => countDescriptors() <= expected || undefined, { everyMs: 25, timeoutMs });
  return countDescriptors();
}

function countDescriptors(): number {
  return readdirSync('/proc/self/fd').length;
}
