import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { AttachmentBounds } from '../../../../gateway/backend.ts';
import type { Problem } from '../../../../src/api/problem.ts';
import type { Capability } from '../../../../src/api/storage.ts';
import { clusters, openGateway, mounted } from '../../../harness/gateway.ts';

const { a } = clusters;
const MiB = 2 ** 20;
const GiB = 2 ** 30;
const TiB = 2 ** 40;
const block: Capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' };
const as = (fsType: string, mountFlags: string[] = []): Capability => ({ ...mounted, fsType, mountFlags });

const open = (t: TestContext) => openGateway(t, { capacity: 2 ** 50 });

const luks = { encryption: 'luks' };
const smallest: readonly (readonly [
  capability: Capability,
  parameters: Record<string, string>,
  bytes: number,
])[] = [
  [as('ext4'), { 'fs.blockSize': '1024' }, 256 * 1024],
  [as('ext4'), { 'fs.inodeSize': '1024', 'fs.bytesPerInode': '2048' }, 16 * MiB],
  [as('xfs'), {}, 300 * MiB],
  [as('xfs'), luks, 316 * MiB],
  [as('btrfs'), {}, 256 * MiB],
  [as('btrfs'), luks, 272 * MiB],
  // Only btrfs accepts it.
  [mounted, { 'fs.nodeSize': '4096' }, 256 * MiB],
  // Only xfs accepts it.
  [{ ...mounted, mountFlags: ['logbsize=256k'] }, {}, 300 * MiB],
  [mounted, luks, 32 * MiB],
  [block, luks, 32 * MiB],
];
for (const [capability, parameters, bytes] of smallest)
  test(`a volume of ${JSON.stringify({ ...capability, ...parameters })} has at least ${bytes / 1024} KiB`, async t => {
    const gateway = await open(t);
    const spec = { capabilities: [capability], parameters };
    const { volume } = await gateway.create('a.one', { ...spec, requiredBytes: 1024 });
    assert.equal(volume.sizeBytes, bytes);
    assert.equal((await gateway.create('a.one', { ...spec, requiredBytes: 1024 })).created, false);
    const none = await gateway.create('a.none', { ...spec, requiredBytes: 0, limitBytes: bytes });
    assert.equal(none.volume.sizeBytes, bytes);
    const limited = gateway.create('a.two', { ...spec, requiredBytes: bytes / 2, limitBytes: bytes - 1 });
    await assert.rejects(limited, { code: 'OUT_OF_RANGE' });
    await assert.rejects(gateway.volumes.get(a, 'a.two'), { code: 'NOT_FOUND' });
    const { minimumVolumeBytes } = await gateway.capacities.find(a, spec);
    assert.equal(minimumVolumeBytes, bytes);
  });

test('a question for the capacity lists all faults of its parameters', async t => {
  const { capacities } = await open(t);
  const spec = { capabilities: [as('ext4')], parameters: { encryption: 'other', 'no-such-parameter': '1' } };
  for (const part of [/no-such-parameter/, /encryption/])
    await assert.rejects(capacities.find(a, spec), { code: 'INVALID_ARGUMENT', detail: part });
});

test("a storage that chooses sizes itself gets the filesystem's minimum", async t => {
  const asked: number[] = [];
  const gateway = await openGateway(t, {
    own: memory => ({
      sizes: undefined,
      create(volume) {
        asked.push(volume.requiredBytes);
        return memory.create(volume);
      },
    }),
  });
  await gateway.create('a.one', { capabilities: [as('xfs')], requiredBytes: 64 * MiB });
  assert.deepEqual(asked, [300 * MiB]);
  const limited = gateway.create('a.two', { capabilities: [as('xfs')], limitBytes: 64 * MiB });
  await assert.rejects(limited, { code: 'OUT_OF_RANGE' });
});

test("a copy of a rounded-up volume may be requested with the size of its source's request", async t => {
  const gateway = await open(t);
  const spec = { capabilities: [as('xfs')], requiredBytes: 64 * MiB };
  await gateway.create('a.one', spec);
  await gateway.snapshot('a.snap', 'a.one');
  const source = { kind: 'snapshot', snapshotId: 'a.snap' } as const;
  assert.equal((await gateway.create('a.copy', { ...spec, source })).volume.sizeBytes, 300 * MiB);
});

/** A volume, and the maximum size of its ext4. */
const reaches: readonly (readonly [
  parameters: Record<string, string>,
  madeBytes: number,
  fits: number,
  fails: number,
])[] = [
  [{ 'fs.bytesPerInode': '1024' }, GiB, 3 * TiB, 5 * TiB],
  [{ 'fs.bytesPerInode': '1024', ...luks }, GiB, 3 * TiB, 5 * TiB],
  [{ 'fs.blockSize': '1024' }, GiB, TiB - 2 * GiB, TiB],
  [{ 'fs.blockSize': '2048' }, GiB, 15 * TiB, 17 * TiB],
  [{}, 64 * MiB, 15 * TiB, 17 * TiB],
  [{}, GiB, 63 * TiB, 65 * TiB],
  [{ 'fs.bytesPerInode': '65536' }, GiB, 255 * TiB, 257 * TiB],
  // This filesystem has the maximum of inodes already.
  [{ 'fs.bytesPerInode': '1024' }, 5 * TiB, 5 * TiB, 6 * TiB],
];
for (const [parameters, madeBytes, fits, fails] of reaches)
  test(`an ext4 of ${madeBytes / MiB} MiB made with ${JSON.stringify(parameters)} grows to ${fits / TiB} TiB and not to ${fails / TiB} TiB`, async t => {
    const gateway = await open(t);
    const spec = { capabilities: [as('ext4')], parameters };
    await gateway.create('a.one', { ...spec, requiredBytes: madeBytes });
    await gateway.snapshot('a.snap', 'a.one');
    const source = { kind: 'snapshot', snapshotId: 'a.snap' } as const;
    // A copy grows as far as its source, even if its own class says otherwise.
    const plain = { capabilities: [as('ext4')], source, parameters: parameters['encryption'] ? luks : {} };
    const restored = gateway.create('a.large', { ...plain, requiredBytes: fails });
    await assert.rejects(restored, { code: 'OUT_OF_RANGE' });
    await assert.rejects(gateway.volumes.get(a, 'a.large'), { code: 'NOT_FOUND' });
    await gateway.create('a.copy', { ...plain, requiredBytes: madeBytes });
    for (const id of ['a.one', 'a.copy']) {
      const expansion = gateway.changes.expand(a, id, { requiredBytes: fails });
      await assert.rejects(expansion, { code: 'OUT_OF_RANGE', detail: /the filesystem cannot grow to/ });
      assert.equal((await gateway.volumes.get(a, id)).sizeBytes, madeBytes);
      assert.equal((await gateway.changes.expand(a, id, { requiredBytes: fits })).sizeBytes, fits);
    }
  });

for (const capability of [as('xfs'), as('btrfs'), mounted, block])
  test(`a volume of ${JSON.stringify(capability)} is expanded to any size`, async t => {
    const gateway = await open(t);
    await gateway.create('a.one', { capabilities: [capability] });
    assert.equal((await gateway.changes.expand(a, 'a.one', { requiredBytes: 90 * TiB })).sizeBytes, 90 * TiB);
  });

for (const kind of ['snapshot', 'volume'] as const) {
  const source = kind === 'snapshot' ? { kind, snapshotId: 'a.snap' } : { kind, volumeId: 'a.one' };
  const openSource = async (t: TestContext, capability: Capability) => {
    const gateway = await open(t);
    await gateway.create('a.one', { capabilities: [capability], requiredBytes: GiB });
    await gateway.snapshot('a.snap', 'a.one');
    return gateway;
  };

  test(`a copy of a ${kind} has its filesystem, or is refused with all faults at once`, async t => {
    const gateway = await openSource(t, as('ext4'));
    const spec = { capabilities: [as('xfs', ['wrong'])], parameters: { hue: 'red' }, requiredBytes: GiB };
    await assert.rejects(gateway.create('a.copy', { ...spec, source }), ({ code, detail }: Problem) => {
      assert.equal(code, 'INVALID_ARGUMENT');
      for (const fault of ['"xfs" is requested', 'has ext4', '"wrong"', 'hue'])
        assert.ok(detail.includes(fault), detail);
      return true;
    });
    await assert.rejects(gateway.volumes.get(a, 'a.copy'), { code: 'NOT_FOUND' });
    for (const fsType of ['ext4', 'ext3', ''])
      await gateway.create(`a.as-${fsType}.`, { source, capabilities: [as(fsType)], requiredBytes: GiB });
    const flags = gateway.create('a.flags', {
      source,
      capabilities: [{ ...mounted, mountFlags: ['inode64'] }],
      requiredBytes: GiB,
    });
    await assert.rejects(flags, { code: 'INVALID_ARGUMENT', detail: /"inode64" is not allowed for ext4/ });
  });

  test(`a copy of a ${kind} of a raw volume may have any filesystem, and so may its copies`, async t => {
    const gateway = await openSource(t, block);
    await gateway.create('a.copy', { source, capabilities: [as('xfs')], requiredBytes: GiB });
    const again = { kind: 'volume', volumeId: 'a.copy' } as const;
    await gateway.create('a.again', { source: again, capabilities: [as('btrfs')], requiredBytes: GiB });
  });
}

const refused: readonly (readonly [capabilities: Capability[], ...says: RegExp[]])[] = [
  [[as('ext4', ['noatime,suid', 'discard', 'noload'])], /"noatime,suid", "noload" is not allowed for ext4/],
  [[as('xfs', ['data=ordered'])], /"data=…" is not allowed for xfs/],
  [[{ ...mounted, mountFlags: ['nfsvers=4.1'] }], /"nfsvers=…" is not allowed for ext4, xfs, btrfs/],
  [
    [{ ...mounted, mountFlags: ['logbsize=256k', 'compress=zstd'] }],
    /"logbsize=…" is not allowed for ext4, btrfs; "compress=…" is not allowed for ext4, xfs/,
  ],
  [[as('ext3')], /"ext3" is not one of ext4, xfs, btrfs/],
  [[as('nfs')], /"nfs" is not one of/],
  [[as('ext4'), as('xfs')], /one filesystem, not ext4 and xfs/],
  [
    [{ ...as('ntfs', ['x']), accessMode: 'MULTI_NODE_MULTI_WRITER' }],
    /MULTI_NODE_MULTI_WRITER/,
    /"ntfs"/,
    /"x"/,
  ],
];
for (const [capabilities, ...says] of refused)
  test(`a volume of ${JSON.stringify(capabilities)} is refused at its creation, with all faults`, async t => {
    const gateway = await open(t);
    await assert.rejects(gateway.create('a.one', { capabilities }), ({ code, detail }: Problem) => {
      assert.equal(code, 'INVALID_ARGUMENT');
      for (const one of says) assert.match(detail, one);
      return true;
    });
    assert.equal(
      (await gateway.capacities.find(a, { capabilities: capabilities.slice(0, 1) })).availableBytes > 0,
      capabilities.length > 1,
    );
  });

test('a validation and an attachment refuse the same mount flags, and accept an existing ext3', async t => {
  const gateway = await open(t);
  await gateway.create('a.one', {});
  await gateway.nodes.put(a, 'n1', {});
  const key = { cluster: a, volumeId: 'a.one', nodeId: 'n1' };
  for (const [capability, isRight] of [
    [as('ext4', ['noload']), false],
    [as('ext3', ['noatime', '_netdev']), true],
  ] as const) {
    const { confirmed } = await gateway.volumes.validate(a, 'a.one', { capabilities: [capability] });
    assert.equal(confirmed, isRight);
    const attached = gateway.attachments.attach(key, { capability, readonly: false });
    if (isRight) await attached;
    else await assert.rejects(attached, { code: 'INVALID_ARGUMENT' });
  }
});

const shared: readonly (readonly [
  bounds: AttachmentBounds | undefined,
  right: Capability[],
  wrong: Capability[],
])[] = [
  [
    { protocols: ['nfs'] },
    [as('nfs', ['nfsvers=4.1', 'nolock']), { ...mounted, mountFlags: ['hard', '_netdev'] }],
    [as('ext4'), as('nfs', ['nfsvers=3']), as('nfs', ['discard']), as('bind')],
  ],
  [{ protocols: ['bind'] }, [as('bind', ['ro'])], [as('bind', ['hard']), as('nfs')]],
  [undefined, [as('cephfs', ['rasize=1']), as('nfs', ['tcp'])], [as('nfs', ['rasize=1']), as('ext4')]],
];
for (const [attachmentBounds, right, wrong] of shared)
  test(`shares over ${attachmentBounds?.protocols.join() ?? 'unknown protocols'} take their own mount flags alone`, async t => {
    const gateway = await openGateway(t, { own: { areShares: true, attachmentBounds } });
    for (const [index, capability] of right.entries())
      await gateway.create(`a.v${index}`, { capabilities: [capability] });
    for (const capability of wrong)
      await assert.rejects(
        gateway.create('a.no', { capabilities: [capability] }),
        { code: 'INVALID_ARGUMENT' },
        JSON.stringify(capability),
      );
  });
