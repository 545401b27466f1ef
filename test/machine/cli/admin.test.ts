import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { exec, type ExecResult } from '../../../src/lib/exec.ts';
import { cli } from '../../harness/program.ts';
import { mounted, volumeSpec } from '../../harness/gateway.ts';
import { runGateway } from '../../harness/gateway/program.ts';

test('operators check, repair and restore, and the exit status tells whether anything is left', async t => {
  const flags = { 'keep-deleted': '1h' };
  const { url, client, directory, signers } = await runGateway(t, { pools: 'images', flags, process: {} });
  const images = join(directory, 'images');
  const keyFile = join(directory, 'operators.jwk.json');
  writeFileSync(keyFile, JSON.stringify(signers.operators.privateJwk));
  const admin = (command: string, ...argv: readonly string[]): Promise<ExecResult> => {
    const address = argv.includes('--gateway') ? [] : ['--gateway', url];
    const all = [cli, 'admin', command, ...argv, ...address, '--key-file', keyFile];
    return exec(process.execPath, all, { timeoutMs: 30_000 });
  };
  const overHttp = await admin('check', '--gateway', 'http://192.0.2.1');
  assert.equal(overHttp.status, 1);
  assert.match(overHttp.stderr, /use https, or --allow-http\n$/);
  const call = { deadlineMs: Date.now() + 120_000 };
  const [volumeId, path, orphan] = ['a.one', join(images, 'a.one.img'), join(images, 'a.orphan.img')];
  await client.createVolume({ volumeId, body: volumeSpec('one', { capabilities: [mounted] }) }, call);
  writeFileSync(path, randomBytes(2 ** 20), { flag: 'r+' });
  const before = readFileSync(path);
  assert.partialDeepStrictEqual(await admin('check'), { status: 0, stdout: 'nothing found\n' });

  writeFileSync(orphan, Buffer.alloc(2 ** 20));
  const found = await admin('check');
  assert.equal(found.status, 2);
  assert.match(found.stdout, /^problem +pool +kind +id +age +found\nunknown +images +volume +a\.orphan /);
  const { findings } = JSON.parse((await admin('check', '--json')).stdout) as { findings: object[] };
  assert.partialDeepStrictEqual(findings, [{ problem: 'unknown', pool: 'images', id: 'a.orphan' }]);
  assert.equal((await admin('repair', '--safety-age', '0s')).status, 2);
  assert.equal((await admin('repair', '--yes')).status, 2);
  assert.ok(existsSync(orphan));
  const done = await admin('repair', '--yes', '--safety-age', '0s');
  assert.equal(done.status, 0, done.stdout);
  assert.match(done.stdout, /a\.orphan .* remove +done$/m);
  assert.equal(existsSync(orphan), false);

  await client.deleteVolume({ volumeId }, call);
  assert.match((await admin('deleted')).stdout, /\na\.one +images +1048576 +20\d\d-/);
  const restored = await admin('restore', '--volume', volumeId);
  assert.equal(restored.stdout, 'volume "a.one" is restored\n');
  assert.equal((await client.getVolume({ volumeId }, call)).state, 'ready');
  assert.ok(readFileSync(path).equals(before));
  const unknown = await admin('restore', '--volume', 'a.none');
  assert.equal(unknown.status, 1);
  assert.match(unknown.stderr, /^fairlead admin restore: there is no .*"a\.none"/);
});
