import assert from 'node:assert/strict';
import { renameSync, symlinkSync } from 'node:fs';
import { test } from 'node:test';
import type { AttachmentOf } from '../../../../src/api/attachment.ts';
import { loop } from '../../../../node-agent/connectors/loop.ts';
import { testConnector } from '../../../suites/connector.ts';
import { openFakeBench, openRealBench, whyNoMachine, type Bench } from '../../../harness/node-agent-bench.ts';

function attachmentTo(path: string, sizeBytes: number): AttachmentOf<'loop'> {
  return { protocol: 'loop', path, sizeBytes, attachmentId: 'a', readonly: false, mayFormat: true };
}

/** A bench whose volumes hold ext4, which is mounted to use one. */
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

const real = whyNoMachine === undefined ? {} : { skip: whyNoMachine };

test('loop refuses a file that is not there, and names it', real, async t => {
  const { host, directory } = openRealBench(t);
  await assert.rejects(loop.connect(attachmentTo(`${directory}/none`, 1), host), {
    code: 'FAILED_PRECONDITION',
    detail: `loop file "${directory}/none" is not there`,
  });
});

test('loop is tried again when its device is detached before it is looked at', async () => {
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

test('loop refuses a path with a symbolic link and detaches its device', real, async t => {
  const { host, directory, makeImage } = openRealBench(t);
  const path = makeImage('image', { sizeBytes: 1024 * 1024 });
  symlinkSync(path, `${directory}/link`);
  await assert.rejects(loop.connect(attachmentTo(`${directory}/link`, 1), host), {
    code: 'FAILED_PRECONDITION',
  });
  assert.equal((await host.run('losetup', ['--associated', path])).stdout, '');
});

test('loop does not take a device of a replaced file for the file', real, async t => {
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

test('loop refuses a file that has two devices, and disconnect takes both', real, async t => {
  const { host, makeImage } = openRealBench(t);
  const attachment = attachmentTo(makeImage('image', { sizeBytes: 1024 * 1024 }), 1);
  for (let i = 0; i < 2; i++) await host.run('losetup', ['--find', '--', attachment.path]);
  await assert.rejects(loop.connect(attachment, host), { code: 'FAILED_PRECONDITION' });
  await loop.disconnect(attachment, host);
  assert.equal((await host.run('losetup', ['--associated', attachment.path])).stdout, '');
});
