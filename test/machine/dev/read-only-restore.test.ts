import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test, type TestContext } from 'node:test';
import { filesystems } from '../../../node-agent/filesystems/index.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { openDev, type OpenDev } from '../../harness/dev.ts';
import { directoryOf } from '../../harness/machine.ts';
import { real } from '../../harness/node.ts';
import { MiB, mountPool, whyNoPool } from '../gateway/backends/image-pool.ts';

/** Writes files without end. Each is durable before its number is printed. */
const writing = `
const { openSync, writeSync, fsyncSync, closeSync } = require('node:fs');
const [, directory] = process.argv;
for (let n = 0; ; n++) {
  const file = openSync(directory + '/' + n, 'w');
  writeSync(file, String(n).padEnd(4096, '.'));
  fsyncSync(file);
  closeSync(file);
  const parent = openSync(directory, 'r');
  fsyncSync(parent);
  closeSync(parent);
  console.log(n);
}`;

type Mode = 'SINGLE_NODE_WRITER' | 'MULTI_NODE_READER_ONLY';
type Capability = {
  readonly mount: { readonly fs_type: string };
  readonly access_mode: { readonly mode: Mode };
};

/** Brings a volume to a target path as a container orchestrator does. */
async function mount({ dir, dev, controller, node }: OpenDev, asked: Mounted): Promise<string> {
  const staging_target_path = join(dir, `staging-${asked.volume_id}`);
  const target_path = join(dir, `target-${asked.volume_id}`);
  const { readonly, ...volume } = asked;
  const { publish_context } = await controller.controller.ControllerPublishVolume({
    ...volume,
    node_id: dev.nodeId,
    readonly: false,
  });
  mkdirSync(staging_target_path);
  const staged = { ...volume, publish_context, staging_target_path };
  await node.node.NodeStageVolume(staged);
  await node.node.NodePublishVolume({ ...staged, target_path, readonly });
  return target_path;
}

type Mounted = {
  readonly volume_id: string;
  readonly volume_context: Readonly<Record<string, string>>;
  readonly volume_capability: Capability;
  readonly readonly: boolean;
};

async function unmount({ dir, dev, controller, node }: OpenDev, volume_id: string): Promise<void> {
  await node.node.NodeUnpublishVolume({ volume_id, target_path: join(dir, `target-${volume_id}`) });
  await node.node.NodeUnstageVolume({ volume_id, staging_target_path: join(dir, `staging-${volume_id}`) });
  await controller.controller.ControllerUnpublishVolume({ volume_id, node_id: dev.nodeId });
}

/** Starts the writer. `durable` returns the number of the last durable file. */
function startWriter(t: TestContext, directory: string) {
  const writer = spawn(process.execPath, ['-e', writing, directory], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let last = -1;
  createInterface(writer.stdout).on('line', line => (last = Number(line)));
  const end = async (): Promise<void> => {
    if (writer.exitCode !== null || writer.signalCode !== null) return;
    const ended = once(writer, 'exit');
    writer.kill('SIGKILL');
    await ended;
  };
  t.after(end);
  return { durable: () => last, end };
}

for (const { name: fs_type } of filesystems)
  test(
    `a read-only claim from the snapshot of a mounted ${fs_type} shows every file that was durable then`,
    { skip: whyNoPool.btrfs || real(`mkfs.${fs_type}`).skip },
    async t => {
      const opened = await openDev(t, {}, mountPool(directoryOf(t), 'btrfs', 2048 * MiB));
      const { controller } = opened.controller;
      const create = async (name: string, mode: Mode, rest: object = {}): Promise<Mounted> => {
        const volume_capability = { mount: { fs_type }, access_mode: { mode } };
        const { volume } = await controller.CreateVolume({
          name,
          capacity_range: { required_bytes: 320 * MiB },
          volume_capabilities: [volume_capability],
          ...rest,
        });
        const { volume_id = '', volume_context = {} } = volume ?? {};
        return { volume_id, volume_context, volume_capability, readonly: mode === 'MULTI_NODE_READER_ONLY' };
      };
      const source = await create('source', 'SINGLE_NODE_WRITER');
      const directory = await mount(opened, source);
      const writer = startWriter(t, directory);
      const isWriting = () => writer.durable() >= 20 || undefined;
      assert.ok(await poll(isWriting, { everyMs: 10, timeoutMs: 60_000 }), 'it never wrote');
      const durable = writer.durable();
      const { snapshot } = await controller.CreateSnapshot({
        name: 'cut',
        source_volume_id: source.volume_id,
      });
      const { snapshot_id = '' } = snapshot ?? {};
      const restored = await create('restored', 'MULTI_NODE_READER_ONLY', {
        volume_content_source: { snapshot: { snapshot_id } },
      });
      const shown = await mount(opened, restored);
      const found = new Set(readdirSync(shown));
      for (let n = 0; n <= durable; n++) {
        assert.ok(found.has(String(n)), `file ${n} of ${durable} is missing`);
        assert.equal(readFileSync(join(shown, String(n)), 'utf8'), String(n).padEnd(4096, '.'));
      }
      assert.throws(() => writeFileSync(join(shown, 'new'), ''), { code: 'EROFS' });
      const before = writer.durable();
      const goesOn = () => writer.durable() > before || undefined;
      assert.ok(await poll(goesOn, { everyMs: 10, timeoutMs: 60_000 }), 'the source is written no more');
      await writer.end();
      for (const { volume_id } of [restored, source]) {
        await unmount(opened, volume_id);
        await controller.DeleteVolume({ volume_id });
      }
    },
  );
