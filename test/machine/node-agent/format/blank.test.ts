import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { proveBlank, superblockRanges, type Range } from '../../../../node-agent/format/prove-blank.ts';
import { loop } from '../../../../node-agent/connectors/loop.ts';
import { ensureFilesystem } from '../../../../node-agent/format/format.ts';
import { MiB, openFakeBench, openNode, real } from '../../../harness/node.ts';

/** A device that must not be formatted: its size, and the way its content was made. */
type UsedDevice = {
  readonly sizeBytes: number;
  readonly tool?: string;
  readonly fill: (path: string) => void;
};

const held: Readonly<Record<string, UsedDevice>> = {
  'an ext4 of 1 KiB blocks whose start is gone': wiped('mkfs.ext4', ['-q', '-b', '1024'], 64 * MiB),
  'an ext4 of 2 KiB blocks whose start is gone': wiped('mkfs.ext4', ['-q', '-b', '2048'], 128 * MiB),
  'an ext4 of 4 KiB blocks whose start is gone': wiped('mkfs.ext4', ['-q', '-b', '4096'], 256 * MiB),
  'an xfs whose start is gone': wiped('mkfs.xfs', ['-q'], 320 * MiB),
  'an xfs of an odd size whose start is gone': wiped('mkfs.xfs', ['-q'], 333 * MiB + 4096 * 3),
  'a btrfs whose start is gone': wiped('mkfs.btrfs', ['-q'], 320 * MiB),
  swap: { sizeBytes: 16 * MiB, tool: 'mkswap', fill: path => void execFileSync('mkswap', ['-q', path]) },
  'a LUKS header': written('LUKS\u00ba\u00be', 0),
  'the second header of a LUKS2 whose first is gone': written('SKUL\u00ba\u00be', 4 * MiB),
  'an LVM label': written('LABELONE', 512),
  'a GPT whose first copy is gone': written('EFI PART', 64 * MiB - 512),
  'an md superblock at the end': written('\u00fc\u004e\u002b\u00a9', 64 * MiB - 8 * 1024),
  'one byte in the first 4 MiB': written('x', 3 * MiB + 17),
  'one byte at the very end': written('x', 64 * MiB - 1),
  // A sixteenth of the device, at a place where no known format keeps data.
  'data of no known format at 40 %': filled({ sizeBytes: 200 * MiB, offset: 80 * MiB, length: 12.5 * MiB }),
};

function filled({ sizeBytes, offset, length }: Range & { readonly sizeBytes: number }): UsedDevice {
  return {
    sizeBytes,
    fill: path => {
      const file = openSync(path, 'r+');
      writeSync(file, randomBytes(length), 0, length, offset);
      closeSync(file);
    },
  };
}

function wiped(tool: string, args: readonly string[], sizeBytes: number): UsedDevice {
  return {
    sizeBytes,
    tool,
    fill: path => {
      execFileSync(tool, [...args, path], { stdio: 'ignore' });
      execFileSync('dd', ['if=/dev/zero', `of=${path}`, 'bs=1M', 'count=8', 'conv=notrunc', 'status=none']);
    },
  };
}

function written(text: string, offset: number): UsedDevice {
  return {
    sizeBytes: 64 * MiB,
    fill: path => {
      const file = openSync(path, 'r+');
      writeSync(file, Buffer.from(text, 'latin1'), 0, undefined, offset);
      closeSync(file);
    },
  };
}

for (const [name, { sizeBytes, tool, fill }] of Object.entries(held))
  test(`${name} is never formatted`, real(...(tool === undefined ? [] : [tool])), async t => {
    const { bench, agent, request } = await openNode(t, { image: { sizeBytes } });
    const { attachment } = request;
    fill(attachment.path);
    const before = bench.copyImage(attachment.path);
    const device = await loop.connect(attachment, bench.host);
    const records = { ...agent.records, put: () => assert.fail('mkfs was about to start') };
    const volume = { agent: { ...agent, records }, record: { ...request, targets: [] }, connector: loop };
    await assert.rejects(ensureFilesystem(volume, { device, isNew: false }), { code: 'FAILED_PRECONDITION' });
    execFileSync('cmp', [attachment.path, before]);
    await loop.disconnect(attachment, bench.host);
  });

test('a device that reads as zeros is blank', real(), async t => {
  const { bench, request } = await openNode(t);
  await proveBlank(await loop.connect(request.attachment, bench.host), bench.host);
  await loop.disconnect(request.attachment, bench.host);
});

test(
  'a device that shrinks during the proof is examined again, and not said to hold data',
  real(),
  async t => {
    const { bench, request } = await openNode(t);
    const device = await loop.connect(request.attachment, bench.host);
    const larger = { ...device, sizeBytes: 2 * device.sizeBytes };
    await assert.rejects(proveBlank(larger, bench.host), {
      code: 'UNAVAILABLE',
      detail: /EOF on \/dev\/loop/,
    });
    await loop.disconnect(request.attachment, bench.host);
  },
);

test('a device that cannot be read is not blank', async () => {
  const { host } = openFakeBench();
  const device = { path: '/dev/loop9', number: '7:9', sizeBytes: MiB, readonly: false, identity: 'none' };
  await assert.rejects(proveBlank(device, host), { code: 'UNAVAILABLE' });
});

test('the ranges lie on the device, in order and disjoint, and include its start and its end', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 64 * 1024 ** 4 }), sizeBytes => {
      const ranges = superblockRanges(sizeBytes);
      assert.equal(ranges[0]?.offset, 0);
      assert.equal((ranges.at(-1)?.offset ?? 0) + (ranges.at(-1)?.length ?? 0), sizeBytes);
      let end = -1;
      for (const { offset, length } of ranges) {
        assert.ok(Number.isInteger(offset) && Number.isInteger(length) && offset > end && length > 0);
        end = offset + length;
      }
    }),
  );
});

test('no sixteenth of a device, and no more than 1 MiB of rounding, is without a stretch that is read', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 64 * 1024 ** 4 }), sizeBytes => {
      let end = 0;
      for (const { offset, length } of superblockRanges(sizeBytes)) {
        assert.ok(offset - end <= sizeBytes / 16 + MiB, `nothing is read from ${end} to ${offset}`);
        end = offset + length;
      }
    }),
  );
});

const [GiB, TiB] = [1024 * MiB, 1024 * 1024 * MiB];

/**
 * The offset of a superblock copy that no sample meets, by format and device size in bytes. For xfs it is the first
 * group boundary that mkfs.xfs 6.1 chose, alone and on stripes.
 */
const copies: readonly (readonly [format: string, sizeBytes: number, offset: number])[] = [
  ['ext4 of 1 KiB blocks', 40 * GiB, 8 * MiB + 1024],
  ['ext4 of 2 KiB blocks', 40 * GiB, 32 * MiB],
  ['ext4 of 4 KiB blocks', 40 * GiB, 128 * MiB],
  ['ext4 with bigalloc', 80 * GiB, 2 * GiB],
  ['btrfs', 40 * GiB, 64 * MiB],
  ['btrfs', 3 * TiB, 256 * GiB],
  ['ocfs2', 80 * GiB, 4 * GiB],
  ['xfs', 20 * GiB, 1_310_720 * 4096],
  ['xfs', 333 * GiB, 21_823_488 * 4096],
  ['xfs', 100 * GiB, 1_638_384 * 4096],
  ['xfs', 600 * GiB, 4_915_136 * 4096],
  ['xfs', TiB, 8_388_592 * 4096],
  ['xfs', 5 * TiB, 268_435_455 * 4096],
];

for (const [format, sizeBytes, start] of copies)
  test(`the ranges of a device of ${sizeBytes} bytes include a copy of the superblock of ${format} at ${start}`, () => {
    const isHeld = superblockRanges(sizeBytes).some(
      ({ offset, length }) => offset <= start && start + 512 <= offset + length,
    );
    assert.ok(isHeld);
  });
