import assert from 'node:assert/strict';
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename } from 'node:path';
import { test } from 'node:test';
import { publish } from '../../../../node-agent/volumes/publish.ts';
import { stage } from '../../../../node-agent/volumes/stage.ts';
import { loopDevicesOf, mountsBelow } from '../../../harness/machine.ts';
import {
  MiB,
  openRealBench,
  openNode,
  putUp,
  real,
  startAgent,
  takeDown,
  type Bench,
} from '../../../harness/node.ts';

/** The fates of a file while its volume is in use. */
const fates: Readonly<Record<string, (path: string, bench: Bench) => void>> = {
  deleted: path => rmSync(path),
  'replaced by another': (path, bench) => renameSync(bench.makeImage('new', { sizeBytes: 32 * MiB }), path),
  'moved away, and another made': (path, bench) => {
    renameSync(path, `${path}.moved`);
    bench.makeImage(basename(path), { sizeBytes: 32 * MiB });
  },
};

const kinds = {
  filesystem: { accessMode: 'SINGLE_NODE_MULTI_WRITER' },
  'block volume': { accessType: 'block', accessMode: 'SINGLE_NODE_MULTI_WRITER', fsType: undefined },
} as const;

for (const [fate, befall] of Object.entries(fates))
  for (const [kind, capability] of Object.entries(kinds))
    for (const isRestarted of [false, true])
      test(
        `a ${kind} whose file was ${fate} is not used further, and is taken down${isRestarted ? ' after a restart' : ''}`,
        real('losetup', 'mkfs.ext4'),
        async t => {
          const image = { sizeBytes: 32 * MiB, content: 'ext4' };
          const { bench, agent: before, request } = await openNode(t, { image, capability });
          await putUp(before, request);
          befall(request.attachment.path, bench);
          const agent = isRestarted ? await startAgent(bench) : before;
          const second = { ...request, targetPath: `${request.targetPath}-second` };
          for (const use of [() => publish(agent, second), () => stage(agent, request)])
            await assert.rejects(use, { code: 'FAILED_PRECONDITION' });
          await takeDown(agent, request);
          assert.deepEqual(mountsBelow(bench.directory), []);
          assert.deepEqual(loopDevicesOf(bench.directory), []);
          assert.deepEqual(agent.records.all(), []);
        },
      );

/** Makes a bench like a kernel before Linux 5.15, which does not count the uses of a device. */
function openOldBench(bench: Bench): Bench {
  const readText: Bench['host']['readText'] = async path =>
    path.endsWith('/diskseq') ? undefined : bench.host.readText(path);
  return { ...bench, host: { ...bench.host, readText } };
}

for (const [fate, befall] of Object.entries(fates))
  test(
    `before Linux 5.15 a volume whose file was ${fate} is not used further, and is taken down once it is unambiguous`,
    real('losetup', 'mkfs.ext4'),
    async t => {
      const image = { sizeBytes: 32 * MiB, content: 'ext4' };
      const { bench, agent, request } = await openNode(openOldBench(openRealBench(t)), { image });
      await putUp(agent, request);
      const { path = '' } = agent.records.get('c.v')?.device ?? {};
      befall(request.attachment.path, bench);
      await assert.rejects(stage(agent, request), { code: 'FAILED_PRECONDITION' });
      const moved = `${request.attachment.path}.moved`;
      if (existsSync(moved)) {
        await assert.rejects(takeDown(agent, request), { code: 'FAILED_PRECONDITION' });
        assert.equal(fileOf(path)?.trim(), moved);
        renameSync(moved, request.attachment.path);
      }
      await takeDown(agent, request);
      assert.deepEqual(mountsBelow(bench.directory), []);
      assert.deepEqual(loopDevicesOf(bench.directory), []);
    },
  );

function fileOf(device: string): string | undefined {
  try {
    return readFileSync(`/sys/block/${basename(device)}/loop/backing_file`, 'utf8');
  } catch {
    return undefined;
  }
}
