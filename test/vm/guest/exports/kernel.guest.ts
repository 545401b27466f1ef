import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { after, before, describe, test, type TestContext } from 'node:test';
import { openConfigTree } from '../../../../gateway/exports/kernel/configfs.ts';
import { newSnapshot, takeSnapshot } from '../../../suites/backend-fixtures.ts';
import {
  accessOf,
  kernelExports,
  makePoolDirectory,
  openExportedPool,
  targetsLeft,
  type KernelExport,
} from '../../targets/exported.ts';
import { changing, openMany, recorded } from '../../targets/many.ts';
import { startDaemons, type Daemons } from '../../targets/scsi-target.ts';
import { readEach, startGuestNode } from '../agent.ts';

mkdirSync('/etc/nvme', { recursive: true });
writeFileSync('/etc/nvme/hostnqn', 'nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555\n');
writeFileSync('/etc/nvme/hostid', '11111111-2222-3333-4444-555555555555\n');

let daemons: Daemons | undefined;
before(async () => {
  // Nothing loads it by itself where no udev runs.
  execFileSync('modprobe', ['sd_mod']);
  daemons = await startDaemons();
});
after(() => daemons?.stop());

const block = { block: {}, access_mode: { mode: 'SINGLE_NODE_WRITER' } } as const;

/** What this machine has as a node: controllers, sessions, and the disks that they bring. */
function connectionsLeft(): readonly string[] {
  const controllers = existsSync('/sys/class/nvme') ? readdirSync('/sys/class/nvme') : [];
  const sessions = readEach('/sys/class/iscsi_connection', 'persistent_address');
  return [...controllers, ...sessions, ...readdirSync('/sys/block').filter(name => /^(sd|nvme)/.test(name))];
}

async function open(t: TestContext, protocol: KernelExport) {
  const pool = await openExportedPool(t, protocol);
  const node = await startGuestNode(t);
  return {
    pool,
    node,
    /** A volume that is attached, as the node is told of it. */
    async attach(volume: Parameters<typeof pool.attach>[0], accessType: 'mount' | 'block' = 'mount') {
      const { attachment, secrets } = await pool.attach(volume, accessOf('n1', accessType));
      const name = volume.id.slice('c.'.length);
      const used = accessType === 'block' ? { capability: block } : {};
      return { ...node.volumeAt({ name, attachment, ...used }), secrets };
    },
  };
}

for (const protocol of Object.keys(kernelExports) as readonly KernelExport[])
  describe(`exported over ${protocol}`, () => {
    test('a volume is written, grows while it is used, and leaves nothing on the node or the box', async t => {
      const { pool, node, attach } = await open(t, protocol);
      const volume = await pool.makeVolume('c.one', 64);
      const fields = await attach(volume);
      const grown: Promise<unknown>[] = [];
      await node.requireLife(fields, {
        grow: requiredBytes => grown.push(pool.backend.expand(volume, { requiredBytes, limitBytes: 0 })),
        left: connectionsLeft,
      });
      await Promise.all(grown);
      for (let count = 0; count < 2; count++) await pool.backend.detach(volume, 'n1', 'c');
      assert.deepEqual(targetsLeft(), []);
      await pool.backend.delete(volume);
    });

    test('a snapshot of a volume that is written restores what was durable, and a volume in use is not deleted', async t => {
      const { pool, node, attach } = await open(t, protocol);
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

    test('a node that writes without pause is cut off: it sees an error, and nothing of it lands after the answer', async t => {
      const { pool, node, attach } = await open(t, protocol);
      const volume = await pool.makeVolume('c.three', 32);
      const fields = await attach(volume, 'block');
      await node.bringUp(fields);
      const line =
        'while :; do seq -f %4095.0f 1 8192 | dd of="$0" bs=4096 iflag=fullblock oflag=direct status=none || exit 7; done';
      const writer = spawn('sh', ['-c', line, fields.target_path], { stdio: 'ignore' });
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

    test('thirty attaches and detaches leave nothing', async t => {
      const pool = await openExportedPool(t, protocol);
      const volume = await pool.makeVolume('c.four', 1);
      for (let count = 0; count < 30; count++) {
        await pool.attach(volume, accessOf('n1'));
        await pool.backend.detach(volume, 'n1', 'c');
      }
      assert.deepEqual(targetsLeft(), []);
    });

    test('two hundred attachments are published again, and what nobody recorded is removed', async t => {
      const { exported, attached } = openMany(t, protocol, { count: 200 });
      await exported.restore?.(recorded(attached));
      const made = targetsLeft();
      assert.equal(made.length, 400);
      await exported.restore?.(recorded(attached));
      assert.deepEqual(targetsLeft(), made);
      await exported.restore?.(recorded([]));
      assert.deepEqual(targetsLeft(), []);
    });

    test('a gateway that ends at any step of attaching and detaching leaves nothing that the next does not find', async t => {
      const [real, root] = [openConfigTree(), makePoolDirectory(t, 320)];
      for (let last = 1, isDone = false; !isDone; last++) {
        let left = last;
        const tree = changing(real, change => {
          if (left-- <= 0) throw new Error('ended');
          return change();
        });
        const { exported, next, attached } = openMany(t, protocol, { tree, root });
        const { volume, access } = attached[0] ?? assert.fail();
        isDone = await exported
          .publish(volume, access)
          .then(() => exported.withdraw(volume, 'n0', 'c'))
          .then(
            () => true,
            () => false,
          );
        if (last % 2 === 0) await next.publish(volume, access);
        if (last % 3 === 0) await next.withdraw(volume, 'n0', 'c');
        else await next.restore?.(recorded([]));
        assert.deepEqual(targetsLeft(), [], `after ${last} steps`);
      }
    });
  });
