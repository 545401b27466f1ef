import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Problem } from '../../../../src/api/problem.ts';
import type { Capability } from '../../../../src/api/storage.ts';
import type { VolumeSpec } from '../../../../src/api/volume.ts';
import { readVolumeParameters } from '../../../../gateway/volumes/validate.ts';
import { clusters, openGateway, mounted, openMemory, volumeSpec } from '../../../harness/gateway.ts';

const { a } = clusters;
const block: Capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' };
const ext4: Capability = { ...mounted, fsType: 'ext4' };

test('options for a new filesystem are passed to nodes in the context of the volume', async t => {
  const { volumes } = await openGateway(t);
  const parameters = { 'fs.blockSize': '4096', 'fs.label': 'data' };
  const spec = volumeSpec('pvc-1', { parameters, capabilities: [ext4] });
  const { volume } = await volumes.create(a, 'a.pvc-1', spec);
  assert.deepEqual([volume.context, volume.parameters], [parameters, parameters]);
  assert.deepEqual(await volumes.create(a, 'a.pvc-1', spec), { volume, created: false });
  const other = { ...spec, parameters: { ...parameters, 'fs.label': 'other' } };
  const refused = volumes.create(a, 'a.pvc-1', other);
  await assert.rejects(refused, { code: 'ALREADY_EXISTS', detail: /other parameters/ });
});

const refused: readonly (readonly [parameters: Record<string, string>, uses: Capability, says: RegExp])[] = [
  [{ 'fs.blockSize': '3' }, ext4, /"fs\.blockSize" for ext4/],
  [{ 'fs.nodeSize': '4096' }, ext4, /"fs\.nodeSize" is not known for ext4/],
  [{ 'fs.colour': 'red' }, mounted, /"fs\.colour" is not known/],
  [{ 'fs.label': 'x' }, block, /"fs\.label".*a block volume has none/],
  [{ colour: 'red' }, ext4, /parameters\.colour: is not known/],
  [{}, { ...mounted, fsType: 'ntfs' }, /"ntfs" is not one of ext4, xfs, btrfs/],
  [{}, { ...mounted, fsType: 'constructor' }, /"constructor" is not one of/],
];
for (const [parameters, capability, says] of refused)
  test(`createVolume refuses ${JSON.stringify({ ...parameters, ...capability })} and records nothing`, async t => {
    const { volumes } = await openGateway(t);
    const spec = volumeSpec('pvc-1', { parameters, capabilities: [capability] });
    await assert.rejects(volumes.create(a, 'a.pvc-1', spec), { code: 'INVALID_ARGUMENT', detail: says });
    await assert.rejects(volumes.get(a, 'a.pvc-1'), { code: 'NOT_FOUND' });
  });

test('all faults of a class are reported at once, at a creation and at a validation', async t => {
  const { create, volumes } = await openGateway(t);
  const wrong = {
    parameters: { colour: 'red', 'fs.blockSize': '3', 'fs.nodeSize': '4096', tier: 'x' },
    capabilities: [ext4, { ...mounted, fsType: 'ntfs' }, { ...mounted, fsType: 'zfs' }],
    mutableParameters: { hue: 'warm' },
    requiredBytes: 2,
    limitBytes: 1,
  };
  const ofUses = ['"ntfs"', '"zfs"', 'mutableParameters.hue'];
  const ofClass = ['parameters.colour', 'parameters.tier', '"fs.blockSize"', '"fs.nodeSize"', 'limitBytes'];
  await assert.rejects(create('a.pvc-1', wrong), ({ code, detail }: Problem) => {
    assert.equal(code, 'INVALID_ARGUMENT');
    for (const one of [...ofUses, ...ofClass]) assert.ok(detail.includes(one), `${one}: ${detail}`);
    return true;
  });
  await create('a.pvc-1');
  const { parameters: _, ...uses } = wrong;
  const { message = '' } = await volumes.validate(a, 'a.pvc-1', uses);
  for (const one of ofUses) assert.ok(message.includes(one), `${one}: ${message}`);
});

test('all impossible options for a new filesystem are reported at once', async t => {
  const { create } = await openGateway(t);
  const parameters = { 'fs.blockSize': '3', 'fs.checksum': 'none' };
  const uses: readonly (readonly [Capability[], readonly RegExp[]])[] = [
    [[block], [/"fs.blockSize"/, /"fs.checksum"/]],
    [
      [ext4, { ...mounted, fsType: 'btrfs' }],
      [/"fs.blockSize" for ext4/, /"fs.blockSize" is not known for btrfs/],
    ],
  ];
  for (const [capabilities, says] of uses)
    await assert.rejects(create('a.pvc-1', { parameters, capabilities }), ({ detail }: Problem) =>
      says.every(one => one.test(detail)),
    );
});

test('createVolume refuses uses that the pool does not offer together, and a limit below the required size', async t => {
  const offered = { accessModes: [mounted.accessMode], accessTypes: ['mount'] } as const;
  const { create, volumes } = await openGateway(t, { own: { ...offered } });
  const readers: Capability = { ...mounted, accessMode: 'MULTI_NODE_READER_ONLY' };
  for (const [spec, says] of [
    [{ capabilities: [mounted, readers] }, /does not offer MULTI_NODE_READER_ONLY/],
    [{ capabilities: [mounted, block] }, /does not offer SINGLE_NODE_WRITER for volumes of type block/],
    [{ requiredBytes: 2, limitBytes: 1 }, /requiredBytes of 2 is more than limitBytes of 1/],
  ] satisfies [Partial<VolumeSpec>, RegExp][]) {
    const created = create('a.pvc-1', spec);
    await assert.rejects(created, { code: 'INVALID_ARGUMENT', detail: says });
  }
  assert.deepEqual(await volumes.list(a, { limit: 1 }), { volumes: [] });
});

test('a volume that may be mounted or used raw accepts options for a filesystem, and a share none', async () => {
  const pool = { name: 'main', backend: await openMemory() };
  const parameters = { 'fs.label': 'x' };
  assert.deepEqual(readVolumeParameters(pool, parameters, [block, ext4]), parameters);
  const shares = { name: 'main', backend: { ...pool.backend, areShares: true } } as const;
  assert.throws(() => readVolumeParameters(shares, parameters, [mounted]), {
    code: 'INVALID_ARGUMENT',
    detail: /volumes of pool "main" have none/,
  });
});
