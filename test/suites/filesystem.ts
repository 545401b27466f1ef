import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loop } from '../../node-agent/connectors/loop.ts';
import type { Filesystem } from '../../node-agent/filesystem.ts';
import { ensureFilesystem } from '../../node-agent/format/format.ts';
import { minimumBytesOf } from '../../src/api/filesystems/sizes.ts';
import { topMount } from '../../src/lib/linux/mountinfo.ts';
import type { FormattingMark, VolumeRecord } from '../../node-agent/state/records.ts';
import {
  openFakeBench,
  openRealBench,
  openNode,
  real,
  withCommands,
  type Bench,
  type ImageOptions,
} from '../harness/node.ts';

type Image = ImageOptions & { readonly readonly?: boolean };
type Task = Awaited<ReturnType<typeof openTask>>;

/** Returns the content of a task's device afterwards, with changes to its record. */
async function ensure({ agent, record, device }: Task, change: Partial<VolumeRecord> = {}) {
  const volume = { agent, record: { ...record, ...change }, connector: loop };
  return (await ensureFilesystem(volume, { device, isNew: false })).filesystem;
}

/**
 * Tests the contract of a filesystem on this machine and on the fake one; `other` is a filesystem that it has to be
 * told apart from.
 */
export function testFilesystem(filesystem: Filesystem, other: Filesystem): void {
  const minimumBytes = minimumBytesOf(filesystem.name);
  const check = (title: string, image: Image, work: (task: Task, bench: Bench) => Promise<void>): void => {
    const run = async (bench: Bench): Promise<void> => {
      const task = await openTask(bench, filesystem, image);
      await work(task, bench);
      await loop.disconnect(task.attachment, bench.host);
    };
    test(`${filesystem.name} on the fake machine: ${title}`, () => run(openFakeBench()));
    const needed = real(`mkfs.${filesystem.name}`, `mkfs.${other.name}`);
    test(`${filesystem.name} on this machine: ${title}`, needed, t => run(openRealBench(t)));
  };
  const ofOther = { content: other.name };

  check('a blank device is made once, with the mark set before and cleared after', {}, async task => {
    assert.equal(await ensure(task), filesystem);
    assert.deepEqual(
      task.marks.map(mark => mark?.attachmentId),
      ['attachment-1', undefined],
    );
    assert.equal(await ensure(task), filesystem);
    assert.equal(task.marks.length, 2);
  });

  check('a new filesystem mounts with its options, also read-only', {}, async (task, { host, directory }) => {
    await ensure(task);
    const path = `${directory}/stage`;
    for (const extra of [[], ['ro']]) {
      const options = [...filesystem.mountOptions, ...extra, 'nosuid'].join(',');
      const args = ['-t', filesystem.name, '-o', options, '--', task.device.path, path];
      const mounted = await host.run('mount', args);
      assert.equal(mounted.status, 0, mounted.stderr);
      const mount = topMount(await host.mounts(), path);
      assert.equal(mount?.type, filesystem.name);
      assert.equal(mount?.options.includes('ro'), extra.length > 0);
      await host.run('umount', ['--', path]);
    }
  });

  check('a device with data of an unknown kind is refused', { content: 'garbage' }, async task => {
    await assert.rejects(ensure(task), { code: 'FAILED_PRECONDITION', detail: /is not blank/ });
    assert.deepEqual(task.marks, []);
  });

  check('a device with another filesystem is refused, and both are named', ofOther, async task => {
    const detail = new RegExp(`holds ${other.name}, but ${filesystem.name} was requested`);
    await assert.rejects(ensure(task), { code: 'FAILED_PRECONDITION', detail });
  });

  check('a filesystem that nobody asked for by name is taken', ofOther, async task => {
    const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' } as const;
    assert.equal(await ensure(task, { capability }), other);
  });

  check('a blank device that should hold data is refused', {}, async task => {
    const attachment = { ...task.record.attachment, mayFormat: false };
    await assert.rejects(ensure(task, { attachment }), { code: 'FAILED_PRECONDITION' });
  });

  check('a blank read-only device is refused', { readonly: true }, async task => {
    await assert.rejects(ensure(task), { code: 'FAILED_PRECONDITION', detail: /is read-only/ });
  });

  const tooSmall = { sizeBytes: Math.floor(minimumBytes / 4096 / 2) * 4096 };
  check('a device that is too small is refused', tooSmall, async task => {
    await assert.rejects(ensure(task), { code: 'FAILED_PRECONDITION', detail: /less than the/ });
  });

  check('a device of the minimum size is made', { sizeBytes: minimumBytes }, async task => {
    assert.equal(await ensure(task), filesystem);
  });

  check("a filesystem is made again after this agent's mkfs was killed", { content: 'half' }, async task => {
    const { sizeBytes, identity } = task.device;
    const mark = { attachmentId: 'attachment-1', sizeBytes, identity };
    await assert.rejects(ensure(task, { formatting: { ...mark, attachmentId: 'b' } }));
    await assert.rejects(ensure(task, { formatting: { ...mark, sizeBytes: 1 } }));
    assert.equal(await ensure(task, { formatting: mark }), filesystem);
  });

  const own = { content: filesystem.name };
  check('a filesystem that mkfs finished before the agent was killed stays', own, async task => {
    const { sizeBytes, identity } = task.device;
    const mark = { attachmentId: 'attachment-1', sizeBytes, identity };
    const agent = withCommands(task.agent, command =>
      command.startsWith('mkfs') ? assert.fail('nothing may be made') : undefined,
    );
    assert.equal(await ensure({ ...task, agent }, { formatting: mark }), filesystem);
    assert.deepEqual(task.marks, [undefined]);
  });
}

async function openTask(bench: Bench, filesystem: Filesystem, image: Image) {
  const opened = await openNode(bench, {
    image,
    capability: { fsType: filesystem.name },
    attachment: { sizeBytes: 1, readonly: image.readonly === true },
  });
  const { volumeId, attachment, capability } = opened.request;
  const marks: (FormattingMark | undefined)[] = [];
  const put = async ({ formatting }: VolumeRecord): Promise<void> => void marks.push(formatting);
  const agent = { ...opened.agent, records: { ...opened.agent.records, put }, defaultFilesystem: filesystem };
  const stagingPath = `${bench.directory}/stage`;
  const record: VolumeRecord = { volumeId, attachment, stagingPath, capability, targets: [] };
  return { agent, record, attachment, device: await loop.connect(attachment, bench.host), marks };
}
