import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { loop } from '../../node-agent/connectors/loop.ts';
import type { Device } from '../../node-agent/connector.ts';
import type { Filesystem } from '../../node-agent/filesystem.ts';
import type { Host } from '../../node-agent/host.ts';
import { ensureFilesystem } from '../../node-agent/format/format.ts';
import type { Agent } from '../../node-agent/volumes/agent.ts';
import { topMount } from '../../src/lib/linux/mountinfo.ts';
import type { FormattingMark, VolumeRecord } from '../../node-agent/state/records.ts';
import type { AttachmentOf } from '../../src/api/attachment.ts';
import { startAgent, type Bench, type ImageOptions } from '../harness/node-agent-bench.ts';

/** How the suite gets a machine; `skip` says why it cannot. */
export type FilesystemSuite = {
  readonly name: string;
  readonly skip: string | undefined;
  readonly filesystem: Filesystem;
  /** Another filesystem, to be told apart from. */
  readonly other: Filesystem;
  readonly open: (t: TestContext) => Bench;
};

type Task = {
  readonly agent: Agent;
  readonly record: VolumeRecord;
  readonly device: Device;
  readonly marks: readonly (FormattingMark | undefined)[];
};
type Work = (task: Task, bench: Bench) => Promise<void>;

/** What the device of a task holds in the end, with changes to its record. */
async function ensure({ agent, record, device }: Task, change: Partial<VolumeRecord> = {}) {
  const volume = { agent, record: { ...record, ...change }, connector: loop };
  return (await ensureFilesystem(volume, device)).filesystem;
}

/** What every filesystem must do, on the real machine and on the fake one. */
export function testFilesystem({ name, skip, filesystem, other, open }: FilesystemSuite): void {
  const check = (title: string, image: ImageOptions & { readonly readonly?: boolean }, work: Work): void => {
    test(`${name}: ${title}`, skip === undefined ? {} : { skip }, async t => {
      const bench = open(t);
      const { task, end } = await openTask(bench, filesystem, image);
      await work(task, bench);
      await end();
    });
  };

  check('a blank device is made once, with the mark set before and cleared after', {}, async task => {
    assert.equal(await ensure(task), filesystem);
    assert.deepEqual(
      task.marks.map(mark => mark?.attachmentId),
      ['a', undefined],
    );
    assert.equal(await ensure(task), filesystem);
    assert.equal(task.marks.length, 2);
  });

  check(
    'what was made mounts with its options, writable and read-only',
    {},
    async (task, { host, directory }) => {
      await ensure(task);
      const path = `${directory}/stage`;
      for (const extra of [[], ['ro', ...filesystem.readonlyOptions]]) {
        const options = ['-o', [...filesystem.mountOptions, ...extra, 'nosuid'].join(',')];
        const mounted = await host.run('mount', [
          '-t',
          filesystem.name,
          ...options,
          '--',
          task.device.path,
          path,
        ]);
        assert.equal(mounted.status, 0, mounted.stderr);
        const mount = topMount(await host.mounts(), path);
        assert.equal(mount?.type, filesystem.name);
        assert.equal(mount?.options.includes('ro'), extra.length > 0);
        await host.run('umount', ['--', path]);
      }
    },
  );

  check('a device with data of an unknown kind is refused', { content: 'garbage' }, async task => {
    await assert.rejects(ensure(task), { code: 'FAILED_PRECONDITION', detail: /is not blank/ });
    assert.deepEqual(task.marks, []);
  });

  check(
    'a device with another filesystem is refused, and both are named',
    { content: other.name },
    async task => {
      await assert.rejects(ensure(task), {
        code: 'FAILED_PRECONDITION',
        detail: new RegExp(`holds ${other.name}, but ${filesystem.name} was asked for`),
      });
    },
  );

  check('a filesystem that nobody asked for by name is taken', { content: other.name }, async task => {
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

  const tooSmall = { sizeBytes: Math.floor(filesystem.minimumBytes / 4096 / 2) * 4096 };
  check('a device that is too small is refused', tooSmall, async task => {
    await assert.rejects(ensure(task), { code: 'FAILED_PRECONDITION', detail: /less than the/ });
  });

  check('a device of the least size is made', { sizeBytes: filesystem.minimumBytes }, async task => {
    assert.equal(await ensure(task), filesystem);
  });

  check('what an own mkfs left that was killed is made again', { content: 'half' }, async task => {
    const { sizeBytes, identity } = task.device;
    const mark = { attachmentId: 'a', sizeBytes, identity };
    await assert.rejects(ensure(task, { formatting: { ...mark, attachmentId: 'b' } }));
    await assert.rejects(ensure(task, { formatting: { ...mark, sizeBytes: 1 } }));
    assert.equal(await ensure(task, { formatting: mark }), filesystem);
  });

  check(
    'a filesystem that mkfs finished before the agent was killed is kept',
    { content: filesystem.name },
    async task => {
      const { sizeBytes, identity } = task.device;
      const mark = { attachmentId: 'a', sizeBytes, identity };
      const { host } = task.agent;
      const run: Host['run'] = (command, ...rest) =>
        command.startsWith('mkfs') ? assert.fail('nothing may be made') : host.run(command, ...rest);
      const agent = { ...task.agent, host: { ...host, run } };
      assert.equal(await ensure({ ...task, agent }, { formatting: mark }), filesystem);
      assert.deepEqual(task.marks, [undefined]);
    },
  );
}

async function openTask(
  bench: Bench,
  filesystem: Filesystem,
  image: ImageOptions & { readonly readonly?: boolean },
) {
  const { host } = bench;
  const attachment: AttachmentOf<'loop'> = {
    protocol: 'loop',
    path: bench.makeImage('image', image),
    attachmentId: 'a',
    sizeBytes: 1,
    readonly: image.readonly === true,
    mayFormat: true,
  };
  const device: Device = await loop.connect(attachment, host);
  const agent = await startAgent(bench);
  const marks: (FormattingMark | undefined)[] = [];
  const put = async ({ formatting }: VolumeRecord): Promise<void> => void marks.push(formatting);
  const record: VolumeRecord = {
    volumeId: 'c.v',
    attachment,
    stagingPath: `${bench.directory}/stage`,
    capability: { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER', fsType: filesystem.name },
    targets: [],
  };
  return {
    task: {
      agent: { ...agent, records: { ...agent.records, put }, defaultFilesystem: filesystem },
      record,
      device,
      marks,
    },
    end: () => loop.disconnect(attachment, host),
  };
}
