import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createClient } from '../../../src/api/client.ts';
import { createTokenSource } from '../../../src/api/http/tokens.ts';
import { startChild } from '../../../src/dev/children.ts';
import { devCluster, enroll } from '../../../src/dev/dev.ts';
import { exec, type ExecResult } from '../../../src/lib/exec.ts';
import { cli } from '../../harness/program.ts';
import { mounted, temporaryDirectory, volumeSpec } from '../../harness/gateway/gateway.ts';

test('operators check, repair and restore, and the exit status tells whether anything is left', async t => {
  const dir = temporaryDirectory(t);
  const images = join(dir, 'images');
  mkdirSync(images);
  const pools = { images: { backend: 'image', dir: images, capacity: '1Gi' } };
  const { configFile, keyFile, operatorKeyFile } = await enroll(dir, pools);
  const gateway = startChild('gateway', {
    listen: '127.0.0.1:0',
    store: join(dir, 'store.sqlite'),
    config: configFile,
    'keep-deleted': '1h',
    'log-level': 'error',
  });
  t.after(() => gateway.close());
  const { gateway: url = '' } = await gateway.ready;
  const token = createTokenSource({ keyFile, issuer: devCluster, audience: 'fairlead', lifetimeMs: 60_000 });
  const client = createClient({ url, token });
  t.after(() => client.close());
  const admin = (command: string, ...argv: readonly string[]): Promise<ExecResult> => {
    const address = argv.includes('--gateway') ? [] : ['--gateway', url];
    const flags = [...address, '--key-file', operatorKeyFile];
    return exec(process.execPath, [cli, 'admin', command, ...argv, ...flags], { timeoutMs: 30_000 });
  };
  const overHttp = await admin('check', '--gateway', 'http://192.0.2.1');
  assert.equal(overHttp.status, 1);
  assert.match(overHttp.stderr, /use https, or --allow-http\n$/);
  const call = { deadlineMs: Date.now() + 120_000 };
  const [volumeId, path, orphan] = ['dev.one', join(images, 'dev.one.img'), join(images, 'dev.orphan.img')];
  await client.createVolume({ volumeId, body: volumeSpec('one', { capabilities: [mounted] }) }, call);
  writeFileSync(path, randomBytes(2 ** 20), { flag: 'r+' });
  const before = readFileSync(path);
  assert.partialDeepStrictEqual(await admin('check'), { status: 0, stdout: 'nothing found\n' });

  writeFileSync(orphan, Buffer.alloc(2 ** 20));
  const found = await admin('check');
  assert.equal(found.status, 2);
  assert.match(found.stdout, /^problem +pool +kind +id +age +found\nunknown +images +volume +dev\.orphan /);
  const { findings } = JSON.parse((await admin('check', '--json')).stdout) as { findings: object[] };
  assert.partialDeepStrictEqual(findings, [{ problem: 'unknown', pool: 'images', id: 'dev.orphan' }]);
  assert.equal((await admin('repair', '--safety-age', '0s')).status, 2);
  assert.equal((await admin('repair', '--yes')).status, 2);
  assert.ok(existsSync(orphan));
  const done = await admin('repair', '--yes', '--safety-age', '0s');
  assert.equal(done.status, 0, done.stdout);
  assert.match(done.stdout, /dev\.orphan .* remove +done$/m);
  assert.equal(existsSync(orphan), false);

  await client.deleteVolume({ volumeId }, call);
  assert.match((await admin('deleted')).stdout, /\ndev\.one +images +1048576 +20\d\d-/);
  const restored = await admin('restore', '--volume', volumeId);
  assert.equal(restored.stdout, 'volume "dev.one" is restored\n');
  assert.equal((await client.getVolume({ volumeId }, call)).state, 'ready');
  assert.ok(readFileSync(path).equals(before));
  const unknown = await admin('restore', '--volume', 'dev.none');
  assert.equal(unknown.status, 1);
  const [, requestId = ''] =
    /^request "([0-9a-f]{12})" failed; [^\n]+\nfairlead admin restore: .*"dev\.none"/.exec(unknown.stderr) ??
    [];
  assert.ok(requestId, unknown.stderr);
});
