// Runs beside Ceph for `test/storage/ceph-shares.test.ts`: kills the gateway at steps that change a filesystem.

import assert from 'node:assert/strict';
import type { Backend, NodeAccess, VolumeSource } from '../../../gateway/backend.ts';
import { backends } from '../../../gateway/backends/index.ts';
import { openPlugin } from '../../harness/gateway/open-plugin.ts';
import { makeVolume, sourceOf } from '../../suites/backend-fixtures.ts';
import { users } from './cluster.ts';
import { deleteWithSnapshot, testCrashes, type Work } from './crashes.ts';
import { requireNoShares, shareSettings } from './filesystem.ts';

const capability = { accessType: 'mount', accessMode: 'MULTI_NODE_MULTI_WRITER' } as const;
const access: NodeAccess = { nodeId: 'n1', attachmentId: 'x1', capability, readonly: false };
const mebibyte = 2 ** 20;

const works: Readonly<Record<string, Work>> = {
  'create a share': async (backend, id) => () => makeVolume(backend, { id }),
  'create a share from a snapshot': copyOf('snapshot'),
  'create a share from a volume': copyOf('volume'),
  async 'expand a share'(backend, id) {
    const volume = await makeVolume(backend, { id });
    return async () => {
      const grown = await backend.expand?.(volume, { requiredBytes: 4 * mebibyte, limitBytes: 0 });
      assert.equal(grown?.sizeBytes, 4 * mebibyte);
    };
  },
  async 'attach a share'(backend, id) {
    const volume = await makeVolume(backend, { id });
    return () => backend.attach(volume, access);
  },
  async 'detach a share'(backend, id) {
    const volume = await makeVolume(backend, { id });
    await backend.attach(volume, access);
    return async () => {
      await backend.detach(volume, 'n1');
      assert.deepEqual(users(), []);
    };
  },
  'delete a share that a snapshot needs, and then the snapshot': deleteWithSnapshot,
};

function copyOf(kind: VolumeSource['kind']): Work {
  return async (backend, id) => {
    const volume = await makeVolume(backend, { id: 'a.source' });
    const source = await sourceOf(backend, kind, volume);
    return () => makeVolume(backend, { id, source });
  };
}

async function clear({ list, delete: remove, snapshots }: Backend): Promise<void> {
  for await (const id of list?.() ?? []) await remove({ id });
  for await (const id of snapshots?.list?.() ?? []) await snapshots?.delete({ id });
  requireNoShares();
}

testCrashes(works, {
  open: () => openPlugin(backends.ceph, shareSettings),
  clear,
  requireNothingLeft: requireNoShares,
});
