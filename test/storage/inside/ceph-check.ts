// Runs beside Ceph for `test/storage/ceph-backend.test.ts`: tests the report on a pool that is checked, and not opened.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { backends } from '../../../gateway/backends/index.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { cli } from '../../harness/program.ts';
import { createSigner } from '../../harness/gateway/signers.ts';
import { run, settings } from './cluster.ts';

const files = { pool: undefined, filesystem: 'files' };

test('a check reports the obstacles between the gateway and the pool, and no fault in a working pool', async t => {
  const directory = newDirectory(t);
  const [keyring, conf] = [join(directory, 'keyring'), join(directory, 'conf')];
  run(`ceph-authtool ${keyring} --create-keyring --gen-key --name client.admin`);
  writeFileSync(conf, '[global]\n');
  const check = async (wrong: object): Promise<string> => {
    const context = { log: silentLog, directory, name: 'rbd' };
    const found = await backends.ceph.check?.(
      backends.ceph.settings.parse({ ...settings, ...wrong }),
      context,
    );
    return found?.join() ?? assert.fail();
  };
  assert.equal(await check({}), '');
  assert.match(await check({ keyring }), /rejects the key of user/);
  assert.match(await check({ user: 'nobody' }), /has no key of user/);
  assert.match(await check({ conf }), /names no monitors/);
  assert.equal(await check({ pool: 'missing' }), 'the cluster has no pool "missing"');
  assert.equal(await check(files), '');
  assert.equal(await check({ ...files, filesystem: 'missing' }), 'the cluster has no filesystem "missing"');
});

test('`fairlead gateway --check` reports for each pool whether the cluster has it, and exits with 1 if one is missing', async t => {
  const check = await createCheck(t);
  const here = { images: {}, shares: files };
  const sound = ['images', 'shares'].map(
    name =>
      `pool ${name}: not checked: whose volumes it holds, which a start compares with the store; all else is ok`,
  );
  assert.deepEqual(check(here), { status: 0, pools: sound });
  assert.deepEqual(check({ ...here, lost: { ...files, filesystem: 'missing' } }), {
    status: 1,
    pools: [...sound, 'pool lost: the cluster has no filesystem "missing"'],
  });
});

/**
 * Runs the command on a configuration whose pools differ from the cluster's in the given settings; returns its exit
 * status and its report.
 */
async function createCheck(t: TestContext) {
  const directory = newDirectory(t);
  const [config, keys] = [join(directory, 'gateway.yaml'), 'a.jwks.json'];
  const { publicJwk } = await createSigner('a');
  writeFileSync(join(directory, keys), JSON.stringify({ keys: [publicJwk] }));
  return (wanted: Readonly<Record<string, object>>) => {
    const pools = Object.fromEntries(
      Object.entries(wanted).map(([name, more]) => [name, { backend: 'ceph', ...settings, ...more }]),
    );
    writeFileSync(config, JSON.stringify({ pools, clusters: { a: { keys } } }));
    const flags = ['--config', config, '--store', join(directory, 'store.sqlite'), '--listen', '127.0.0.1:0'];
    const { status, stdout } = spawnSync(process.execPath, [cli, 'gateway', '--check', ...flags], {
      encoding: 'utf8',
    });
    return { status, pools: stdout.split('\n').filter(line => line.startsWith('pool ')) };
  };
}

/** Makes a directory that is removed with the test. */
function newDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'check-'));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}
