import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import { before, test } from 'node:test';
import { poll } from '../../../../src/lib/concurrency.ts';
import { findMissingRules } from '../../../../gateway/local/devices/udev-rules.ts';
import { makeVolume } from '../../../suites/backend-fixtures.ts';
import { loadZfs, makeDataset, zfs } from '../../targets/dataset.ts';
import { openExportedPool } from '../../targets/exported.ts';

const rules = '/etc/udev/rules.d/57-fairlead.rules';
const link = '/dev/disk/by-label/of-a-pod';
const run = (...[command = '', ...args]: readonly string[]): string =>
  execFileSync(command, args, { encoding: 'utf8' });

/** Makes udev look at the disks again. */
function look(): void {
  run('udevadm', 'control', '--reload');
  run('udevadm', 'trigger', '--action=change', '--subsystem-match=block');
  run('udevadm', 'settle');
}

// With the rules of all packages.
before(() => {
  run('/usr/lib/systemd/systemd-udevd', '--daemon');
  loadZfs();
});

test('a volume whose link udev has not made gets its link', async t => {
  const { backend, pathOf } = await openExportedPool(t, 'nvme-tcp', makeDataset(t));
  for (const id of ['a.linked', 'a.lost']) await makeVolume(backend, { id });
  rmSync(pathOf('a.lost'));
  await makeVolume(backend, { id: 'a.lost' });
  for (const id of ['a.linked', 'a.lost']) assert.ok(existsSync(pathOf(id)), id);
});

test('udev does not act on what a node has written to its volume', async t => {
  const { dataset } = makeDataset(t);
  const name = `${dataset}/fairlead.volume.a.labelled`;
  zfs('create', '-s', '-V', '64M', '-o', 'volmode=dev', name);
  // ZFS makes the device a little later.
  const isThere = () => existsSync(`/dev/zvol/${name}`) || undefined;
  assert.ok(await poll(isThere, { everyMs: 100, timeoutMs: 30_000 }));
  // Each event of the device makes its link anew.
  run('udevadm', 'settle');
  run('mkfs.ext4', '-q', '-L', 'of-a-pod', `/dev/zvol/${name}`);
  look();
  assert.ok(existsSync(link), 'without the rule udev makes the link');
  assert.match(String(findMissingRules()), /copy deploy\/udev\/57-fairlead\.rules/);
  copyFileSync(new URL('../../../../deploy/udev/57-fairlead.rules', import.meta.url), rules);
  t.after(() => rmSync(rules));
  look();
  assert.ok(!existsSync(link));
  assert.ok(existsSync(`/dev/zvol/${name}`));
  assert.deepEqual(findMissingRules(), []);
});
