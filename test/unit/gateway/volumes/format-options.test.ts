import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Capability } from '../../../../src/api/storage.ts';
import type { Pool } from '../../../../gateway/pools/pools.ts';
import { readVolumeParameters } from '../../../../gateway/volumes/validate.ts';
import { clusters, makeGateway, mounted, openMemory, volumeSpec } from '../../../harness/gateway-harness.ts';
import { isProblem, isProblemThat } from '../../../harness/gateway-problems.ts';

const block: Capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' };
const ext4: Capability = { ...mounted, fsType: 'ext4' };

test('options for a new filesystem are told to nodes in the context of the volume', async t => {
  const { volumes } = await makeGateway(t);
  const parameters = { 'fs.blockSize': '4096', 'fs.label': 'data' };
  const spec = volumeSpec('pvc-1', { parameters, capabilities: [ext4] });
  const { volume } = await volumes.create(clusters.a, 'a.pvc-1', spec);
  assert.deepEqual(volume.context, parameters);
  assert.deepEqual(volume.parameters, parameters);
  assert.deepEqual(await volumes.create(clusters.a, 'a.pvc-1', spec), { volume, created: false });
  const other = { ...spec, parameters: { ...parameters, 'fs.label': 'other' } };
  await assert.rejects(
    volumes.create(clusters.a, 'a.pvc-1', other),
    isProblemThat('ALREADY_EXISTS', /other parameters/),
  );
});

const refused = [
  { parameters: { 'fs.blockSize': '3' }, capabilities: [ext4], says: /"fs\.blockSize" for ext4/ },
  {
    parameters: { 'fs.nodeSize': '4096' },
    capabilities: [ext4],
    says: /"fs\.nodeSize" is not known for ext4/,
  },
  { parameters: { 'fs.colour': 'red' }, capabilities: [mounted], says: /"fs\.colour" is not known/ },
  { parameters: { 'fs.label': 'x' }, capabilities: [block], says: /"fs\.label".*a block volume gets none/ },
  { parameters: { colour: 'red' }, capabilities: [ext4], says: /"colour" is not known/ },
  {
    parameters: {},
    capabilities: [{ ...mounted, fsType: 'ntfs' }],
    says: /"ntfs" is not one of ext4, xfs, btrfs/,
  },
  {
    parameters: {},
    capabilities: [{ ...mounted, fsType: 'constructor' }],
    says: /"constructor" is not one of/,
  },
];

for (const { parameters, capabilities, says } of refused) {
  test(`createVolume refuses ${JSON.stringify({ parameters, capabilities }).slice(0, 90)}`, async t => {
    const { volumes } = await makeGateway(t);
    const spec = volumeSpec('pvc-1', { parameters, capabilities });
    await assert.rejects(
      volumes.create(clusters.a, 'a.pvc-1', spec),
      isProblemThat('INVALID_ARGUMENT', says),
    );
    await assert.rejects(volumes.get(clusters.a, 'a.pvc-1'), isProblem('NOT_FOUND'));
  });
}

test('a volume that may be mounted or used raw takes options for a filesystem', async () => {
  const parameters = { 'fs.label': 'x' };
  assert.deepEqual(readVolumeParameters(await openPool(), parameters, [block, ext4]), parameters);
});

test('a backend of shares takes no options for a filesystem, and judges the filesystem itself', async () => {
  const { backend, name } = await openPool();
  const shares = { name, backend: { ...backend, areShares: true } } as const;
  assert.throws(
    () => readVolumeParameters(shares, { 'fs.label': 'x' }, [mounted]),
    isProblemThat('INVALID_ARGUMENT', /no volume of pool "main" gets one/),
  );
});

async function openPool(): Promise<Pool> {
  return { name: 'main', backend: await openMemory() };
}
