import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { Capability } from '../../../../src/api/storage.ts';
import type { VolumeSpec } from '../../../../src/api/volume.ts';
import { clusters, openGateway, mounted, volumeSpec } from '../../../harness/gateway.ts';

const { a } = clusters;
const volumeId = 'a.pvc-1';
const parameters = { encryption: 'luks' };
const block: Capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' };
const shared: Capability = { accessType: 'block', accessMode: 'MULTI_NODE_MULTI_WRITER' };
const sources = [
  { kind: 'volume', volumeId },
  { kind: 'snapshot', snapshotId: 'a.snap-1' },
] as const;

/** Opens a gateway with a volume, and functions that attach it to a node and detach it. */
async function open(
  t: TestContext,
  spec: Partial<VolumeSpec> = { parameters, capabilities: [mounted, block] },
) {
  const gateway = await openGateway(t);
  const { volume } = await gateway.create(volumeId, spec);
  const key = { cluster: a, volumeId, nodeId: 'n1' };
  await gateway.nodes.put(a, 'n1', {});
  const attach = async (capability: Capability) =>
    (await gateway.attachments.attach(key, { capability, readonly: false })).attachment.attachment;
  return { ...gateway, volume, attach, detach: () => gateway.attachments.detach(key) };
}

test('an encrypted volume says so to every reader and to its nodes', async t => {
  const { volumes, volume, attach, detach } = await open(t);
  assert.deepEqual([volume.parameters, volume.context], [parameters, {}]);
  assert.equal((await attach(mounted))?.encryption, 'luks');
  await detach();
  const other = volumes.create(a, volumeId, volumeSpec('pvc-1', { capabilities: [mounted, block] }));
  await assert.rejects(other, { code: 'ALREADY_EXISTS', detail: /other parameters/ });
});

test('a node encrypts a raw device, too, and it counts as empty until its header says otherwise', async t => {
  const { attach, detach } = await open(t);
  for (const capability of [block, mounted, block]) {
    const { mayFormat, encryption } = (await attach(capability)) ?? {};
    assert.deepEqual({ mayFormat, encryption }, { mayFormat: true, encryption: 'luks' });
    await detach();
  }
});

test('an unencrypted volume does not mention encryption', async t => {
  const { attach } = await open(t, {});
  assert.equal((await attach(mounted))?.encryption, undefined);
});

test('nodes of an encrypted volume must grow the decrypted device', async t => {
  const { changes } = await open(t);
  const grown = await changes.expand(a, volumeId, { requiredBytes: 64 * 2 ** 20 });
  assert.equal(grown.nodeExpansionRequired, true);
});

test('unknown encryptions, shares and volumes that several nodes write are refused', async t => {
  const { volumes, attach } = await open(t);
  const create = (spec: Partial<VolumeSpec>) => volumes.create(a, 'a.pvc-2', volumeSpec('pvc-2', spec));
  await assert.rejects(create({ parameters: { encryption: 'none' } }), { code: 'INVALID_ARGUMENT' });
  await assert.rejects(create({ parameters, capabilities: [shared] }), {
    code: 'INVALID_ARGUMENT',
    detail: /a volume that several nodes write to/,
  });
  await assert.rejects(attach(shared), { code: 'INVALID_ARGUMENT' });
  assert.equal((await volumes.validate(a, volumeId, { capabilities: [shared] })).confirmed, false);
  const shares = await openGateway(t, { own: { areShares: true } });
  await assert.rejects(shares.create(volumeId, { parameters }), {
    code: 'INVALID_ARGUMENT',
    detail: /are shares/,
  });
});

for (const source of sources)
  test(`a copy of a ${source.kind} is encrypted like it, or is refused`, async t => {
    for (const [ofSource, others] of [
      [parameters, {}],
      [{}, parameters],
    ] as const) {
      const { snapshot, volumes, attach } = await open(t, { parameters: ofSource });
      await snapshot('a.snap-1', volumeId);
      if (source.kind === 'snapshot') await volumes.delete(a, volumeId);
      const copy = (given: Record<string, string>) =>
        volumes.create(a, 'a.copy', volumeSpec('copy', { parameters: given, source }));
      await assert.rejects(copy(others), {
        code: 'INVALID_ARGUMENT',
        detail: /request the same for the copy/,
      });
      const { volume } = await copy(ofSource);
      assert.deepEqual(volume.parameters, ofSource);
      if (source.kind === 'volume') assert.equal((await attach(mounted))?.mayFormat, true);
    }
  });
