import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { after, before, describe, test, type TestContext } from 'node:test';
import { newSnapshot, takeSnapshot } from '../../../suites/backend-fixtures.ts';
import { playKills } from '../../../suites/exports/killed.ts';
import { config, loadTarget } from '../../targets/configfs.ts';
import type { VolumeKind } from '../../../../gateway/export.ts';
import {
  accessOf,
  hasZfs,
  kernelExports,
  makePlace,
  openExportedPool,
  targetsLeft,
  type KernelExport,
} from '../../targets/exported.ts';
import { recorded } from '../../../suites/exports/recorded.ts';
import { openMany, pathMaker, poolKey } from '../../targets/many.ts';
import { startRawWriter } from '../../targets/raw-writer.ts';
import { startDaemons, type Daemons } from '../../targets/scsi-target.ts';
import { readEach, startGuestNode } from '../agent.ts';

mkdirSync('/etc/nvme', { recursive: true });
writeFileSync('/etc/nvme/hostnqn', 'nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555\n');
writeFileSync('/etc/nvme/hostid', '11111111-2222-3333-4444-555555555555\n');

let daemons: Daemons | undefined;
before(async () => {
  // Without udev nothing else loads the module.
  execFileSync('modprobe', ['sd_mod']);
  daemons = await startDaemons();
});
after(() => daemons?.stop());

const block = { block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } } as const;
const reader = { mount: { fs_type: 'ext4' }, access_mode: { mode: 'SINGLE_NODE_READER_ONLY' } } as const;

/** Lists the controllers, sessions and disks that this machine has as a node. */
function connectionsLeft(): readonly string[] {
  const controllers = existsSync('/sys/class/nvme') ? readdirSync('/sys/class/nvme') : [];
  const sessions = readEach('/sys/class/iscsi_connection', 'persistent_address');
  return [...controllers, ...sessions, ...readdirSync('/sys/block').filter(name => /^(sd|nvme)/.test(name))];
}

/**
 * The moments of the kill, while a gateway attaches and detaches. A gateway killed in the middle of a change has
 * usually made it, like one killed before the next; so every second or fourth change is enough. The run's seed chooses
 * the first one, so that over many runs each change is hit. Five volumes at once are more than the gateway works on
 * concurrently.
 */
const killed = {
  'at any change of a volume': { count: 1, every: 2 },
  'in the middle of any change that threads make for five volumes at once': {
    count: 5,
    isBeside: true,
    when: ['meanwhile'],
    every: 4,
  },
} as const;

/** Lists the loop devices that have a file. */
function loopDevices(): readonly string[] {
  return readdirSync('/sys/block').filter(name => existsSync(`/sys/block/${name}/loop`));
}

/** Waits for programs that a killed gateway had started; in reality they end long before a gateway starts again. */
function untilOver(...programs: readonly string[]): void {
  const query = ['-C', programs.join(), '-o', 'stat='];
  while (/^[^Z]/m.test(spawnSync('ps', query, { encoding: 'utf8' }).stdout)) spawnSync('sleep', ['0.05']);
}

/** Removes the objects that targets share or leave behind, so that the next gateway makes them. */
function dropCommon(): void {
  for (const kind of ['nvmet/ports', 'target/core'])
    for (const name of readdirSync(`${config}/${kind}`).filter(one => /^(fileio_)?\d+$/.test(one)))
      rmdirSync(`${config}/${kind}/${name}`);
  if (existsSync(`${config}/target/iscsi`)) rmdirSync(`${config}/target/iscsi`);
}

async function open(t: TestContext, protocol: KernelExport, kind: VolumeKind) {
  const pool = await openExportedPool(t, protocol, makePlace(t, kind));
  const node = await startGuestNode(t);
  return {
    pool,
    node,
    /** Attaches a volume and returns the attachment as its node receives it. */
    async attach(volume: Parameters<typeof pool.attach>[0], accessType: 'mount' | 'block' = 'mount') {
      const { attachment, secrets } = await pool.attach(volume, accessOf('n1', accessType));
      const name = volume.id.slice('c.'.length);
      const used = accessType === 'block' ? { capability: block } : {};
      return { ...node.volumeAt({ name, attachment, ...used }), secrets };
    },
  };
}

/**
 * The protocols and kinds of volumes, with the count of attachments of a large pool, and the factor by which kills are
 * rarer. Devices take long to make, and a gateway changes the targets of files and devices in the same way.
 */
const rows = [
  { protocol: 'nvme-tcp', kind: 'file', many: 200, rarer: 1 },
  { protocol: 'nvme-tcp', kind: 'device', many: 30, rarer: 4 },
  { protocol: 'iscsi', kind: 'file', many: 200, rarer: 1 },
  { protocol: 'iscsi', kind: 'device', many: 30, rarer: 4 },
] as const;

// Files do not differ in a machine with ZFS.
for (const { protocol, kind, many, rarer } of rows.filter(row => !hasZfs || row.kind === 'device'))
  describe(`a ${kind} exported over ${protocol}`, () => {
    test('a volume is written, expanded while in use, and leaves nothing on the node or the box', async t => {
      const { pool, node, attach } = await open(t, protocol, kind);
      const volume = await pool.makeVolume('c.one', 64);
      const fields = await attach(volume);
      await node.requireLife(fields, {
        grow: requiredBytes => pool.backend.expand(volume, { requiredBytes, limitBytes: 0 }),
        left: connectionsLeft,
      });
      for (let count = 0; count < 2; count++) await pool.backend.detach(volume, 'n1', 'c');
      assert.deepEqual(targetsLeft(), []);
      await pool.backend.delete(volume);
    });

    test('a snapshot of a volume during writes restores the durable data, and a volume in use is not deleted', async t => {
      const { pool, node, attach } = await open(t, protocol, kind);
      const volume = await pool.makeVolume('c.two', 64);
      const fields = await attach(volume);
      await node.bringUp(fields);
      node.write(fields);
      const snapshot = await takeSnapshot(pool.backend, newSnapshot('c.snapshot', volume, true));
      await assert.rejects(pool.backend.delete(volume), { code: 'FAILED_PRECONDITION' });
      await node.takeDown(fields);
      await pool.backend.detach(volume, 'n1', 'c');
      const wanted = { ...volume, id: 'c.restored', requiredBytes: volume.sizeBytes, limitBytes: 0 };
      const capabilities = [accessOf('n1').capability];
      const source = { kind: 'snapshot', snapshot } as const;
      await pool.backend.create({ ...wanted, nonce: 'own', capabilities, source });
      const restored = await attach({ ...volume, id: 'c.restored' });
      await node.bringUp(restored);
      assert.equal(node.read(restored), 'data');
      await node.takeDown(restored);
      await pool.backend.detach({ id: 'c.restored' }, 'n1', 'c');
      assert.deepEqual(targetsLeft(), []);
    });

    test('a reader of the restored snapshot of a volume in use sees the durable data, once it may replay the journal', async t => {
      const { pool, node, attach } = await open(t, protocol, kind);
      const volume = await pool.makeVolume('c.two', 64);
      const fields = await attach(volume);
      await node.bringUp(fields);
      node.write(fields);
      const snapshot = await takeSnapshot(pool.backend, newSnapshot('c.snapshot', volume, true));
      await node.takeDown(fields);
      await pool.backend.detach(volume, 'n1', 'c');
      const restored = { ...volume, id: 'c.restored', nonce: 'own' };
      const source = { kind: 'snapshot', snapshot } as const;
      const capabilities = [accessOf('n1').capability];
      const size = { requiredBytes: volume.sizeBytes, limitBytes: 0 };
      await pool.backend.create({ ...restored, ...size, capabilities, source });
      const attachReader = async (mayReplay?: true) => {
        const access = { ...accessOf('n1'), readonly: true, mayReplay };
        const { attachment, secrets } = await pool.attach(restored, access);
        return {
          ...node.volumeAt({ name: 'restored', attachment, capability: reader, readonly: true }),
          secrets,
        };
      };
      const asReader = await attachReader();
      await assert.rejects(node.client.node.NodeStageVolume(asReader), {
        code: 'FAILED_PRECONDITION',
        detail: /was not unmounted cleanly; mount it once for writing/,
      });
      await pool.backend.detach(restored, 'n1', 'c');
      const replaying = await attachReader(true);
      await node.bringUp(replaying);
      assert.equal(node.read(replaying), 'data');
      const device = execFileSync('findmnt', ['-n', '-o', 'SOURCE', replaying.staging_target_path], {
        encoding: 'utf8',
      });
      assert.equal(execFileSync('blockdev', ['--getro', device.trim()], { encoding: 'utf8' }), '1\n');
      await node.takeDown(replaying);
      assert.deepEqual(connectionsLeft(), []);
      await pool.backend.detach(restored, 'n1', 'c');
      assert.deepEqual(targetsLeft(), []);
    });

    test('a node that writes without pause is cut off: it sees an error, and none of its writes lands after the answer', async t => {
      const { pool, node, attach } = await open(t, protocol, kind);
      const volume = await pool.makeVolume('c.three', 32);
      const fields = await attach(volume, 'block');
      await node.bringUp(fields);
      const writer = startRawWriter(fields.target_path);
      const ended = once(writer, 'exit');
      const empty = pool.hashOf(volume.id);
      while (pool.hashOf(volume.id) === empty);
      await pool.backend.detach(volume, 'n1', 'c');
      const content = pool.hashOf(volume.id);
      assert.deepEqual(targetsLeft(), []);
      assert.deepEqual(await ended, [7, null]);
      assert.equal(pool.hashOf(volume.id), content);
      await node.takeDown(fields);
      assert.deepEqual(connectionsLeft(), []);
    });

    test('restore publishes many attachments again and removes unrecorded ones', async t => {
      const { exported, attached } = openMany(t, protocol, { count: many, makePath: pathMaker(t, kind) });
      await exported.restore?.(recorded(attached));
      const made = targetsLeft();
      assert.equal(made.length, 2 * many);
      await exported.restore?.(recorded(attached));
      assert.deepEqual(targetsLeft(), made);
      await exported.restore?.(recorded([]));
      assert.deepEqual(targetsLeft(), []);
    });

    for (const [what, { count, every, ...chosen }] of Object.entries(killed))
      test(`a gateway that is killed ${what} leaves nothing that the next one does not find`, async t => {
        loadTarget('nvmet', 'nvmet_tcp', 'target_core_mod', 'target_core_file', 'iscsi_target_mod');
        const { next, attached } = openMany(t, protocol, { count, makePath: pathMaker(t, kind) });
        const loops = loopDevices();
        const { kills, underWay } = await playKills({
          settings: kernelExports[protocol],
          root: '/',
          kind,
          poolKey,
          attached,
          every: every * rarer,
          ...chosen,
          next() {
            untilOver('mkdir', 'modprobe');
            return next();
          },
          left: () => [...targetsLeft(), ...loopDevices().filter(name => !loops.includes(name))],
          reset: dropCommon,
        });
        assert.ok(kills >= 8 / rarer, `${kills} kills`);
        t.diagnostic(`${protocol}, ${kind}: ${kills} kills, ${underWay} in the middle of a change`);
      });
  });
