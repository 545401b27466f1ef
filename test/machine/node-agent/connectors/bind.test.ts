import assert from 'node:assert/strict';
import { mkdirSync, rmdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { bind } from '../../../../node-agent/connectors/bind.ts';
import { topMount } from '../../../../src/lib/linux/mountinfo.ts';
import { testShareConnector } from '../../../suites/share-connector.ts';
import { openRealBench, whyNoMachine } from '../../../harness/node.ts';
import { makeDirectoryVolume, openFakeShares, toDirectory } from '../../../harness/node/shares.ts';

testShareConnector({
  name: 'bind on the fake machine',
  connector: bind,
  open() {
    const bench = openFakeShares();
    return { ...bench, attach: bench.bind };
  },
});

testShareConnector({
  name: 'bind on this machine',
  skip: whyNoMachine,
  connector: bind,
  open(t) {
    const bench = openRealBench(t);
    return { ...bench, attach: name => makeDirectoryVolume(bench, name) };
  },
});

const real = whyNoMachine === undefined ? {} : { skip: whyNoMachine };

test('bind refuses a missing path, a path that is no directory, and a link in the path', real, async t => {
  const bench = openRealBench(t);
  const { host, directory } = bench;
  const { path } = makeDirectoryVolume(bench, 'v');
  mkdirSync(`${path}/inner`);
  writeFileSync(`${directory}/file`, '');
  symlinkSync(path, `${directory}/link`);
  const rows = ['none', 'file', 'link', 'link/inner', 'volumes/../volumes/v', 'volumes//v'];
  for (const row of rows)
    await assert.rejects(
      bind.connect(toDirectory(`${directory}/${row}`), host),
      { code: 'FAILED_PRECONDITION' },
      row,
    );
  await assert.rejects(bind.connect(toDirectory('volumes'), host), { code: 'FAILED_PRECONDITION' });
  assert.deepEqual(await bind.connect(toDirectory(path), host), { source: path, options: ['bind'] });
});

test('bind considers a mount stale once its directory is removed', real, async t => {
  const bench = openRealBench(t);
  const { host, directory } = bench;
  const attachment = makeDirectoryVolume(bench, 'v');
  await host.run('mount', ['--bind', '--', attachment.path, `${directory}/stage`]);
  const judged = async () => {
    const mount = topMount(await host.mounts(), `${directory}/stage`);
    assert.ok(mount);
    return bind.judge(attachment, mount, host);
  };
  assert.equal(await judged(), 'own');
  rmdirSync(attachment.path);
  assert.equal(await judged(), 'stale');
});
