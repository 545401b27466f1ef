import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { exec } from '../../../src/lib/exec.ts';
import { runKit } from '../../fakes/storages/kit.ts';
import { bridgeCommand, startBridged, startDriver, startGroupStorage } from '../../fakes/storages/bridged.ts';
import { servePlugin } from '../../fakes/storages/node-plugin.ts';
import { directoryOf, loopDevicesOf, mountsBelow, noRoot } from '../../harness/machine.ts';
import { cli } from '../../harness/program.ts';
import { isFull, sample, seed } from '../../harness/sample.ts';

const drivers = [
  { title: 'a driver', flagsOf: async () => ({}) },
  {
    title: 'a driver that snapshots groups',
    flagsOf: async (t: TestContext, dir: string) => (await startGroupStorage(t, dir)).flags,
  },
];

for (const { title, flagsOf } of sample('drivers', drivers, 1))
  test(
    `the kit finds nothing in a bridge over ${title}, lost answers and restarts included`,
    { skip: noRoot },
    async t => {
      const dir = directoryOf(t);
      const { env } = await startDriver(t, dir, await flagsOf(t, dir));
      const report = await runKit(t, { command: bridgeCommand, seed, env });
      const faults = report.results.filter(({ failure }) => failure);
      assert.deepEqual(
        faults.map(({ id, failure }) => [id, failure?.expected]),
        [],
      );
      assert.deepEqual(report.left, []);
    },
  );

test(
  'the kit finds nothing in the bytes of raw volumes over a driver, also after restarts',
  { skip: noRoot },
  async t => {
    const dir = directoryOf(t);
    const { driver, env } = await startDriver(t, dir);
    const report = await runKit(t, {
      command: bridgeCommand,
      seed,
      env: { ...env, ACCESS_TYPES: 'block' },
      hasData: true,
      csiDrivers: { 'csi.fairlead.dev': new URL(driver.node).pathname },
      only: isFull ? ['FL-9'] : ['FL-9.1-2', 'FL-9.1-4'],
    });
    const faults = report.results.filter(({ failure }) => failure);
    assert.deepEqual(
      faults.map(({ id, failure }) => [id, failure?.expected]),
      [],
    );
    const passed = report.results.filter(({ outcome }) => outcome === 'PASS');
    assert.ok(
      passed.some(({ id }) => id === 'FL-9.1-2'),
      'no bytes were written and read',
    );
    assert.deepEqual([report.left, mountsBelow(dir), loopDevicesOf(dir)], [[], [], []]);
  },
);

test(
  'a wrong --csi-drivers, a file in place of a device, and a volume that stays staged are faults',
  { skip: noRoot },
  async t => {
    const dir = directoryOf(t);
    const { env } = await startDriver(t, dir);
    const { socketPath } = await servePlugin(t);
    const { socketPath: stuck } = await servePlugin(t, { refuses: true });
    const name = 'csi.fairlead.dev';
    const faultOf = async (csiDrivers: Readonly<Record<string, string>>, types = 'block') => {
      const more = { command: bridgeCommand, seed, hasData: true, csiDrivers, only: ['FL-9.1-2'] };
      const { results, left } = await runKit(t, { ...more, env: { ...env, ACCESS_TYPES: types } });
      return { expected: results.find(({ id }) => id === 'FL-9.1-2')?.failure?.expected ?? '', left };
    };
    const missing = join(dir, 'missing.sock');
    const faulty = [
      [{ other: missing }, /driver "csi\.fairlead\.dev" is among --csi-drivers, not only other/],
      [
        { [name]: missing },
        /plugin of driver "csi\.fairlead\.dev" listens on ".*missing\.sock": .*--csi-drivers/,
      ],
      [
        { [name]: socketPath },
        /not the access type mount: start the bridge with --access-types block/,
        'mount',
      ],
      [{ [name]: socketPath }, /leaves a block device at ".*", not another file/],
    ] as const;
    for (const [given, words, types] of sample('wrong drivers', faulty, 1)) {
      const { expected, left } = await faultOf(given, types);
      assert.match(expected, words);
      assert.deepEqual(left, []);
    }
    const { left } = await faultOf({ [name]: stuck });
    assert.ok(left.length > 0, 'a volume that is still staged was detached and deleted');
  },
);

test('a volume of a driver lives its whole life behind a gateway', { skip: noRoot }, async t => {
  const dir = directoryOf(t);
  await startBridged(t, dir);
  const demo = [cli, 'demo', '--dir', join(dir, 'own')];
  const { status, stdout, stderr } = await exec(process.execPath, demo, { timeoutMs: 120_000 });
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /nothing is left behind/);
  assert.deepEqual([mountsBelow(dir), loopDevicesOf(dir)], [[], []]);
});
