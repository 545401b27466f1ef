import assert from 'node:assert/strict';
import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, symlinkSync } from 'node:fs';
import { basename } from 'node:path';
import { test } from 'node:test';
import type { AttachmentOf } from '../../../../src/api/attachment.ts';
import { loop } from '../../../../node-agent/connectors/loop.ts';
import type { Host } from '../../../../node-agent/host.ts';
import { stage, unstage } from '../../../../node-agent/volumes/stage.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { testConnector } from '../../../suites/connector.ts';
import { connectInOwnMounts } from '../../../harness/machine.ts';
import {
  MiB,
  openFakeBench,
  openRealBench,
  openNode,
  whyNoMachine,
  type Bench,
} from '../../../harness/node.ts';

function attachmentTo(path: string, sizeBytes: number): AttachmentOf<'loop'> {
  return { protocol: 'loop', path, sizeBytes, attachmentId: 'a', readonly: false, mayFormat: true };
}

/** Makes a connector bench whose volumes hold ext4; a mount uses a volume. */
function toConnectorBench({ host, directory, makeImage, resizeImage }: Bench) {
  return {
    host,
    attach: (name: string, sizeBytes: number) =>
      attachmentTo(makeImage(name, { sizeBytes, content: 'ext4' }), sizeBytes),
    resize: ({ path }: AttachmentOf<'loop'>, sizeBytes: number) => resizeImage(path, sizeBytes),
    use: async (devicePath: string) => {
      await host.run('mount', ['-t', 'ext4', '--', devicePath, `${directory}/stage`]);
      return async () => void (await host.run('umount', ['--', `${directory}/stage`]));
    },
  };
}

testConnector({
  name: 'loop on the fake machine',
  connector: loop,
  open: () => toConnectorBench(openFakeBench()),
});

testConnector({
  name: 'loop on this machine',
  skip: whyNoMachine,
  connector: loop,
  open: t => toConnectorBench(openRealBench(t)),
});

const whyNoSequence = existsSync('/sys/block/loop0/diskseq')
  ? false
  : 'needs /sys/block/loop0/diskseq, which Linux has since 5.15';
const real = whyNoMachine === undefined ? {} : { skip: whyNoMachine };

test('loop refuses a missing file and names it', real, async t => {
  const { host, directory } = openRealBench(t);
  await assert.rejects(loop.connect(attachmentTo(`${directory}/none`, 1), host), {
    code: 'FAILED_PRECONDITION',
    detail: `loop file "${directory}/none" does not exist`,
  });
});

test('loop retries if its device is detached before it is examined', async () => {
  const { host, makeImage } = openFakeBench();
  const path = makeImage('image', { sizeBytes: 1024 * 1024 });
  host.state.extra.set('losetup', () => ({ stdout: '/dev/loop9\n' }));
  const files = new Map([
    ['/sys/block/loop9/dev', '7:9'],
    ['/sys/block/loop9/size', '0'],
  ]);
  const readText = async (at: string) => files.get(at) ?? host.readText(at);
  await assert.rejects(loop.connect(attachmentTo(path, 1), { ...host, readText }), { code: 'UNAVAILABLE' });
});

test('loop provides a writable device even if somebody made it read-only for its file before', async () => {
  const { host, makeImage } = openFakeBench();
  const attachment = attachmentTo(makeImage('image', { sizeBytes: MiB }), 1);
  let isReadonly = true;
  host.state.extra.set('blockdev', ([flag]) => {
    isReadonly = flag === '--setro';
    return 0;
  });
  const readText = async (at: string) => (isReadonly && at.endsWith('/ro') ? '1' : host.readText(at));
  assert.equal((await loop.connect(attachment, { ...host, readText })).readonly, false);
});

test(
  'loop connects a file anew for a reader if its device is writable, and changes no device in use',
  real,
  async t => {
    const { host, makeImage, directory } = openRealBench(t);
    const attachment = attachmentTo(makeImage('image', { sizeBytes: 8 * MiB, content: 'ext4' }), 1);
    const writable = await loop.connect(attachment, host);
    const reader = { ...attachment, readonly: true };
    await host.run('mount', ['-t', 'ext4', '--', writable.path, `${directory}/stage`]);
    await assert.rejects(loop.connect(reader, host), { code: 'FAILED_PRECONDITION' });
    await host.run('umount', ['--', `${directory}/stage`]);
    assert.equal((await loop.connect(reader, host)).readonly, true);
    await loop.disconnect(attachment, host);
  },
);

test('loop refuses a path with a symbolic link and detaches its device', real, async t => {
  const { host, directory, makeImage } = openRealBench(t);
  const path = makeImage('image', { sizeBytes: 1024 * 1024 });
  symlinkSync(path, `${directory}/link`);
  await assert.rejects(loop.connect(attachmentTo(`${directory}/link`, 1), host), {
    code: 'FAILED_PRECONDITION',
  });
  await requireDetached(path, host);
});

test(
  "loop detaches the device of a refused path, even if another file's device had that name before",
  { skip: whyNoMachine ?? whyNoSequence },
  async t => {
    const { host, directory, makeImage } = openRealBench(t);
    const path = makeImage('image', { sizeBytes: MiB });
    symlinkSync(path, `${directory}/link`);
    // Each name that losetup may find free is in the list of the devices with a file.
    const partitions = Array.from(
      { length: 256 },
      (_, index) => `   7        ${index}       1024 loop${index}\n`,
    );
    const readText: Host['readText'] = async at =>
      at === '/proc/partitions' ? partitions.join('') : host.readText(at);
    await assert.rejects(loop.connect(attachmentTo(`${directory}/link`, 1), { ...host, readText }), {
      code: 'FAILED_PRECONDITION',
    });
    await requireDetached(path, host);
  },
);

/** While another program, such as a listing of all devices, has a device open, it is only marked for detaching. */
async function requireDetached(path: string, host: Host): Promise<void> {
  const isDetached = async () =>
    (await host.run('losetup', ['--associated', path])).stdout === '' || undefined;
  assert.ok(await poll(isDetached, { everyMs: 20, timeoutMs: 10_000 }), 'the device is still there');
}

test("loop does not mistake a device of a replaced file for the file's", real, async t => {
  const { host, directory, makeImage } = openRealBench(t);
  const old = attachmentTo(makeImage('image', { sizeBytes: 1024 * 1024 }), 1);
  const { number } = await loop.connect(old, host);
  renameSync(old.path, `${directory}/moved`);
  makeImage('image', { sizeBytes: 1024 * 1024 });
  const device = await loop.connect(old, host);
  assert.notEqual(device.number, number);
  assert.equal(await loop.owns(old, number, host), false);
  await loop.disconnect(old, host);
});

test('loop refuses a file with two devices, and disconnect removes both', real, async t => {
  const { host, makeImage } = openRealBench(t);
  const attachment = attachmentTo(makeImage('image', { sizeBytes: 1024 * 1024 }), 1);
  for (let i = 0; i < 2; i++) await host.run('losetup', ['--find', '--', attachment.path]);
  await assert.rejects(loop.connect(attachment, host), { code: 'FAILED_PRECONDITION' });
  await loop.disconnect(attachment, host);
  assert.equal((await host.run('losetup', ['--associated', attachment.path])).stdout, '');
});

test('loop also removes a device that its file got beside its own', real, async t => {
  const { host, makeImage } = openRealBench(t);
  const attachment = attachmentTo(makeImage('image', { sizeBytes: 1024 * 1024 }), 1);
  await loop.connect(attachment, host);
  await host.run('losetup', ['--find', '--', attachment.path]);
  await loop.disconnect(attachment, host);
  assert.equal((await host.run('losetup', ['--associated', attachment.path])).stdout, '');
});

test('loop lets losetup search for a device of the file only where one is possible', async () => {
  const { host, makeImage } = openFakeBench();
  const found: boolean[] = [];
  const run: typeof host.run = (command, args, options) => {
    if (args.includes('--find')) found.push(args.includes('--nooverlap'));
    return host.run(command, args, options);
  };
  for (const name of ['first', 'second'])
    await loop.connect(attachmentTo(makeImage(name, { sizeBytes: 1024 * 1024 }), 1), { ...host, run });
  assert.deepEqual(found, [false, true]);
});

test('loop cuts off only the device of its file, not the next file that gets the name', real, async t => {
  const { host, makeImage } = openRealBench(t);
  const [old, next] = ['old', 'next'].map(name => attachmentTo(makeImage(name, { sizeBytes: MiB }), MiB));
  assert.ok(old && next);
  // Other tests get the lowest free device, so none of them takes this one while it has no file.
  const path = await attachHigh(host, old.path);
  const run: typeof host.run = async (command, args, options) => {
    if (command === process.execPath) {
      await host.run('losetup', ['--detach', path]);
      assert.equal((await host.run('losetup', [path, next.path])).status, 0);
    }
    return host.run(command, args, options);
  };
  await loop.cutOff(old, { ...host, run });
  assert.equal((await loop.connect(next, host)).path, path);
  assert.equal(readFileSync(`/sys/block/${basename(path)}/size`, 'utf8'), `${MiB / 512}\n`);
  await loop.disconnect(next, host);
});

/** Attaches a file to a device with a high number, and returns the path of the device. */
async function attachHigh(host: Host, file: string): Promise<string> {
  const first = 200 + (process.pid % 50);
  for (let number = first; number < first + 50; number++) {
    const path = `/dev/loop${number}`;
    if ((await host.run('losetup', [path, file])).status === 0) return path;
  }
  return assert.fail(`no device from loop${first} to loop${first + 49} is free`);
}

test('loop refuses a file that gets a second device while it gets its first', async () => {
  const { host, makeImage } = openFakeBench();
  const attachment = attachmentTo(makeImage('image', { sizeBytes: 1024 * 1024 }), 1);
  const run: typeof host.run = async (command, args, options) => {
    if (args.includes('--find')) await host.run('losetup', ['--find', '--', attachment.path]);
    return host.run(command, args, options);
  };
  await assert.rejects(loop.connect(attachment, { ...host, run }), { code: 'FAILED_PRECONDITION' });
});

test('loop leaves a device that detaches with its last user alone, since another file may have its name by then', async () => {
  const { host, makeImage, directory } = openFakeBench();
  const attachment = attachmentTo(makeImage('image', { sizeBytes: 1024 * 1024, content: 'ext4' }), 1);
  const device = await loop.connect(attachment, host);
  const staged = `${directory}/stage`;
  await host.run('mount', ['-t', 'ext4', '--', device.path, staged]);
  await host.run('losetup', ['--detach', device.path]);
  const run: typeof host.run = (command, args, options) =>
    args.includes('--detach') ? assert.fail('it was detached once more') : host.run(command, args, options);
  await loop.releaseAfterUse?.({ ...device, use: '' }, { ...host, run });
  const disconnected = loop.disconnect(attachment, { ...host, run });
  await host.run('umount', ['--', staged]);
  await disconnected;
  assert.equal(host.state.loops.size, 0);
});

test('loop lists no devices if all others are older or belong to other files', async () => {
  const { host, makeImage } = openFakeBench();
  const [first = '', own = '', younger = ''] = ['first', 'own', 'younger'].map(name =>
    makeImage(name, { sizeBytes: 1024 * 1024 }),
  );
  const lists: string[] = [];
  const run: typeof host.run = (command, args, options) => {
    if (args.includes('--list')) lists.push(args.join(' '));
    return host.run(command, args, options);
  };
  await host.run('losetup', ['--find', '--show', '--', first]);
  for (const path of [own, younger]) await loop.connect(attachmentTo(path, 1), { ...host, run });
  for (const path of [own, younger]) await loop.disconnect(attachmentTo(path, 1), { ...host, run });
  assert.deepEqual(lists, []);
  assert.deepEqual(
    [...host.state.loops.values()].map(({ backing }) => backing),
    [first],
  );
});

test(
  'loop knows the device of its file after the mount namespace that opened the file is gone',
  real,
  async t => {
    const { host, directory, makeImage } = openRealBench(t);
    const attachment = attachmentTo(makeImage('image', { sizeBytes: 1024 * 1024 }), 1);
    const other = await connectInOwnMounts(t, { directory, at: `${directory}/stage`, name: 'image' });
    await other.end();
    assert.equal(backingOf(other.device), '/image');
    const device = await loop.connect(attachment, host);
    assert.equal(device.path, other.device);
    assert.equal(await loop.owns(attachment, device.number, host), true);
    await loop.disconnect(attachment, host);
    assert.equal((await host.run('losetup', ['--associated', attachment.path])).stdout, '');
  },
);

test('loop does not mistake a file with its path in another mount namespace for its own', real, async t => {
  const { host, directory, makeImage } = openRealBench(t);
  for (const name of ['one', 'other']) mkdirSync(`${directory}/${name}`);
  const foreign = makeImage('other/image', { sizeBytes: 1024 * 1024 });
  for (const isThere of [false, true]) {
    const attachment = attachmentTo(`${directory}/one/image`, 1);
    if (isThere) makeImage('one/image', { sizeBytes: 1024 * 1024 });
    const other = await connectInOwnMounts(t, {
      directory: `${directory}/other`,
      at: `${directory}/one`,
      name: 'image',
    });
    assert.equal(backingOf(other.device), attachment.path);
    const number = readFileSync(`/sys/block/${basename(other.device)}/dev`, 'utf8').trim();
    assert.equal(await loop.owns(attachment, number, host), false);
    await loop.disconnect(attachment, host);
    assert.match((await host.run('losetup', ['--associated', foreign])).stdout, /image/);
    await host.run('losetup', ['--detach', other.device]);
    await other.end();
  }
});

test('loop knows the device of an earlier process without a command, unless its file was replaced', async () => {
  for (const isReplaced of [false, true]) {
    const { host, makeImage } = openFakeBench();
    const attachment = attachmentTo(makeImage('recalled', { sizeBytes: MiB }), 1);
    await host.run('losetup', ['--find', '--', attachment.path]);
    const loopFile = host.state.loops.get(0) ?? assert.fail();
    if (isReplaced) host.state.loops.set(0, { ...loopFile, backing: `${attachment.path} (deleted)` });
    const commands: string[] = [];
    const run: typeof host.run = (command, ...line) => {
      commands.push(command);
      return host.run(command, ...line);
    };
    await loop.recall?.(attachment, { path: '/dev/loop0', number: '7:0', use: '' }, { ...host, run });
    assert.equal(await loop.owns(attachment, '7:0', { ...host, run }), !isReplaced);
    assert.deepEqual(commands, isReplaced ? ['losetup'] : []);
  }
});

test('loop removes the recorded device, even if its file was moved', real, async t => {
  const { host, directory, makeImage } = openRealBench(t);
  const attachment = attachmentTo(makeImage('image', { sizeBytes: 1024 * 1024 }), 1);
  const { path, number } = await loop.connect(attachment, host);
  renameSync(attachment.path, `${directory}/moved`);
  await loop.disconnect(attachment, host);
  for (let i = 0; i < 2; i++) await loop.release?.({ path, number, use: '' }, host);
  assert.equal((await host.run('losetup', ['--associated', `${directory}/moved`])).stdout, '');
});

test('the device of a file with two names is refused to the second volume', real, async t => {
  const bench = openRealBench(t);
  const { request, agent } = await openNode(bench, { image: { sizeBytes: 32 * MiB, content: 'ext4' } });
  linkSync(request.attachment.path, `${bench.directory}/second`);
  await stage(agent, request);
  const other = { ...request, volumeId: 'c.other', stagingPath: `${request.stagingPath}-other` };
  const attachment = { ...request.attachment, path: `${bench.directory}/second` };
  await assert.rejects(stage(agent, { ...other, attachment }), { code: 'FAILED_PRECONDITION' });
  await unstage(agent, request);
});

function backingOf(device: string): string {
  return readFileSync(`/sys/block/${basename(device)}/loop/backing_file`, 'utf8').trim();
}
