import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createClient, type StorageClient } from '../../../src/api/client.ts';
import { createTokenSource } from '../../../src/controller/tokens.ts';
import { startChild } from '../../../src/dev/children.ts';
import { devCluster, enroll } from '../../../src/dev/enrolment.ts';
import { exec, type ExecResult } from '../../../src/lib/exec.ts';
import { cli } from '../../harness/dev.ts';
import { mounted, temporaryDirectory, volumeSpec } from '../../harness/gateway-harness.ts';
import { noRoot } from '../../harness/machine.ts';

type Place = {
  readonly images: string;
  readonly client: StorageClient;
  /** Runs `fairlead admin` as an operator. */
  readonly admin: (...argv: readonly string[]) => Promise<ExecResult>;
};

/** A gateway in a process of its own that soft-deletes, with one pool of images. */
async function prepare(t: TestContext): Promise<Place> {
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
  const token = createTokenSource({
    keyFile,
    issuer: devCluster,
    audience: 'fairlead',
    lifetimeMs: 60_000,
  });
  const client = createClient({ url, token });
  t.after(() => client.close());
  const flags = ['--gateway', url, '--key-file', operatorKeyFile];
  const admin = (command: string, ...argv: readonly string[]): Promise<ExecResult> =>
    exec(process.execPath, [cli, 'admin', command, ...argv, ...flags], { timeoutMs: 30_000 });
  return { images, client, admin: admin as Place['admin'] };
}

function create({ client }: Place, name: string): Promise<unknown> {
  const body = volumeSpec(name, { capabilities: [mounted] });
  return client.createVolume({ volumeId: `dev.${name}`, body }, call());
}

function call(): { readonly deadlineMs: number } {
  return { deadlineMs: Date.now() + 30_000 };
}

function addOrphan({ images }: Place): string {
  const path = join(images, 'dev.orphan.img');
  writeFileSync(path, '');
  truncateSync(path, 2 ** 20);
  return path;
}

test('audit and repair show findings, repair what is unknown, and tell by their status what is left', async t => {
  const place = await prepare(t);
  await create(place, 'one');
  assert.partialDeepStrictEqual(await place.admin('audit'), { status: 0, stdout: 'nothing was found\n' });
  const path = addOrphan(place);
  const found = await place.admin('audit');
  assert.equal(found.status, 2);
  assert.match(found.stdout, /^problem +pool +kind +id +age +found\nunknown +images +volume +dev\.orphan /);
  const { findings } = JSON.parse((await place.admin('audit', '--json')).stdout) as { findings: object[] };
  assert.partialDeepStrictEqual(findings, [{ problem: 'unknown', pool: 'images', id: 'dev.orphan' }]);
  assert.equal((await place.admin('repair', '--safety-age', '0s')).status, 2);
  assert.equal((await place.admin('repair', '--yes')).status, 2);
  assert.ok(existsSync(path));
  const done = await place.admin('repair', '--yes', '--safety-age', '0s');
  assert.equal(done.status, 0, done.stdout);
  assert.match(done.stdout, /dev\.orphan .* remove +done$/m);
  assert.equal(existsSync(path), false);
  assert.equal((await place.admin('audit')).status, 0);
});

test('an image that a loop device has open is not removed', { skip: noRoot }, async t => {
  const place = await prepare(t);
  await create(place, 'one');
  const path = addOrphan(place);
  const argv = ['--find', '--show', '--', path];
  const device = execFileSync('losetup', argv, { encoding: 'utf8' }).trim();
  t.after(() => execFileSync('losetup', ['--detach', device]));
  const { status, stdout } = await place.admin('repair', '--yes', '--safety-age', '0s');
  assert.equal(status, 2);
  assert.match(stdout, /dev\.orphan .* remove +failed +volume "dev\.orphan" /);
  assert.ok(existsSync(path));
});

test('a restored volume has the bytes that it was deleted with', async t => {
  const place = await prepare(t);
  await create(place, 'one');
  const path = join(place.images, 'dev.one.img');
  writeFileSync(path, randomBytes(2 ** 20), { flag: 'r+' });
  const before = readFileSync(path);
  await place.client.deleteVolume({ volumeId: 'dev.one' }, call());
  assert.match((await place.admin('deleted')).stdout, /\ndev\.one +images +1048576 +20\d\d-/);
  const restored = await place.admin('restore', '--volume', 'dev.one');
  assert.equal(restored.stdout, 'volume "dev.one" is ready again\n');
  assert.equal((await place.client.getVolume({ volumeId: 'dev.one' }, call())).state, 'ready');
  assert.ok(readFileSync(path).equals(before));
  const unknown = await place.admin('restore', '--volume', 'dev.none');
  assert.equal(unknown.status, 1);
  assert.match(unknown.stderr, /^fairlead admin restore: .*"dev\.none"/);
});
