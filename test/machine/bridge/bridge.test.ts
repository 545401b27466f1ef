import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { globSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { toCsiCapability } from '../../../src/csi/request.ts';
import type { DriverVolume } from '../../../src/kit/existing.ts';
import { exec } from '../../../src/lib/exec.ts';
import { runKit } from '../../fakes/storages/kit.ts';
import { bridgeCommand, startBridged, startDriver, startGroupStorage } from '../../fakes/storages/bridged.ts';
import { servePlugin } from '../../fakes/storages/node-plugin.ts';
import { clientOf } from '../../harness/csi-serving.ts';
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
      const { driver, env } = await startDriver(t, dir, await flagsOf(t, dir));
      const createExisting = makerOf(t, driver.controller);
      const report = await runKit(t, { command: bridgeCommand, seed, env, createExisting });
      const faults = report.results.filter(({ failure }) => failure);
      assert.deepEqual(
        faults.map(({ id, failure }) => [id, failure?.expected]),
        [],
      );
      assert.deepEqual(report.left, []);
      const imports = report.results.filter(({ id }) => id.startsWith('FL-3.9-') || id === 'FL-8.3-6');
      assert.deepEqual(new Set(imports.map(({ outcome }) => outcome)), new Set(['PASS']));
    },
  );

for (const { title, flagsOf } of sample('drivers with data', drivers, 1))
  test(
    `the kit finds nothing in the bytes of raw volumes over ${title}, also after restarts`,
    { skip: noRoot },
    async t => {
      const dir = directoryOf(t);
      const { driver, env } = await startDriver(t, dir, await flagsOf(t, dir));
      // Only the driver over image files has a file for each volume.
      const existing = title === drivers[0]?.title && makerOf(t, driver.controller, join(dir, 'driver'));
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

test('a volume of a driver lives its whole life behind a gateway', { skip: noRoot }, async t => {
  const dir = directoryOf(t);
  await startBridged(t, dir);
  const demo = [cli, 'demo', '--dir', join(dir, 'own')];
  const { status, stdout, stderr } = await exec(process.execPath, demo, { timeoutMs: 120_000 });
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /nothing is left behind/);
  assert.deepEqual([mountsBelow(dir), loopDevicesOf(dir)], [[], []]);
});

/** Makes a function that makes a volume by the driver's socket. With the driver's `directory` the volume has random bytes. */
function makerOf(t: TestContext, socket: string, directory?: string): () => Promise<DriverVolume> {
  const { controller } = clientOf(t, socket);
  const sizeBytes = 2 ** 20;
  let count = 0;
  return async () => {
    const name = `pvc-existing-${++count}`;
    const { volume } = await controller.CreateVolume({
      name,
      capacity_range: { required_bytes: sizeBytes },
      volume_capabilities: ['mount' as const, 'block' as const].map(accessType =>
        toCsiCapability({ accessType, accessMode: 'SINGLE_NODE_WRITER' }),
      ),
    });
    assert.ok(volume);
    const made = {
      driver: 'csi.fairlead.dev',
      handle: volume.volume_id,
      context: volume.volume_context,
      sizeBytes,
    };
    if (directory === undefined) return made;
    const [image] = globSync(join(directory, `**/*.${name}.img`));
    assert.ok(image, `there is no image of ${name} below ${directory}`);
    const bytes = randomBytes(sizeBytes);
    writeFileSync(image, bytes);
    return { ...made, sha256: createHash('sha256').update(bytes).digest('hex') };
  };
}
