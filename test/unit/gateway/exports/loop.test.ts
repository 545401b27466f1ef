import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttachedVolume } from '../../../../gateway/backend.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import { openLoop } from '../../../../gateway/exports/loop.ts';
import { makeVolume } from '../../../suites/backend-fixtures.ts';
import { createLocal } from '../backends/local.ts';

const { open } = createLocal(backends.image);

test('without an export, and with "loop", a volume is the file itself, for one node', async t => {
  for (const settings of [{}, { export: { protocol: 'loop' } }] as const) {
    const { backend, root, access } = await open(t, settings);
    const reach = await backend.attach(await makeVolume(backend), access);
    assert.deepEqual(reach, { protocol: 'loop', path: `${root}/a.volume.img` });
    assert.deepEqual(backend.accessModes, openLoop().accessModes);
    assert.deepEqual(
      backend.accessModes.filter(mode => !mode.startsWith('SINGLE_NODE')),
      ['MULTI_NODE_READER_ONLY'],
    );
  }
});

test('an export is not replaced while a node has a volume over it', async t => {
  const { backend, access } = await open(t);
  const volume = await makeVolume(backend);
  const attached = async function* (reach: AttachedVolume['reach']): AsyncGenerator<AttachedVolume> {
    yield { volume, access, reach };
  };
  await backend.restore(attached({ protocol: 'loop', path: '/any' }));
  const over = backend.restore(attached({ protocol: 'nfs', server: 'box', path: '/x' }));
  await assert.rejects(over, { message: /"a\.volume" is attached to node "n1" over nfs; detach it before/ });
});
