import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { bridgeCommand, startDriver } from '../../fakes/storages/bridged.ts';
import { runKit } from '../../fakes/storages/kit.ts';
import { servePlugin } from '../../fakes/storages/node-plugin.ts';
import { directoryOf, loopDevicesOf, mountsBelow, noRoot } from '../../harness/machine.ts';
import { isFull, sample, seed } from '../../harness/sample.ts';
import { drivers, volumeMakerOf } from './drivers.ts';

for (const { title, flagsOf } of sample('drivers with data', drivers, 1))
  test(
    `the kit finds nothing in the bytes of raw volumes over ${title}, also after restarts`,
    { skip: noRoot },
    async t => {
      const dir = directoryOf(t);
      const { driver, env } = await startDriver(t, dir, await flagsOf(t, dir));
      // Only the driver over image files has a file for each volume.
      const existing =
        title === drivers[0]?.title && volumeMakerOf(t, driver.controller, join(dir, 'driver'));
      const report = await runKit(t, {
        command: bridgeCommand,
        seed,
        env: { ...env, ACCESS_TYPES: 'block' },
        hasData: true,
        csiDrivers: { 'csi.fairlead.dev': new URL(driver.node).pathname },
        ...(existing && { createExisting: existing }),
        only: isFull ? [] : ['FL-9.1-2', 'FL-9.1-4', 'FL-9.1-11'],
      });
      const faults = report.results.filter(({ failure }) => failure);
      assert.deepEqual(
        faults.map(({ id, failure }) => [id, failure?.expected]),
        [],
      );
      for (const id of ['FL-9.1-2', ...(existing ? ['FL-9.1-11'] : [])])
        assert.equal(report.results.find(one => one.id === id)?.outcome, 'PASS', `${id}: no bytes were read`);
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
