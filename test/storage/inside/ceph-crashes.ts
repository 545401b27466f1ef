// Runs beside Ceph for `test/storage/ceph-crashes.test.ts`: kills the gateway at each step that changes something.

import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { after } from 'node:test';
import type { KnownVolume, NodeAccess, VolumeSource } from '../../../gateway/backend.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { assertHolds, makeVolume, newGroup, sourceOf } from '../../suites/backend-fixtures.ts';
import { content, imageOf, requireNothingLeft, watchersOf } from './cluster.ts';
import { deleteWithSnapshot, testCrashes, type Work } from './crashes.ts';
import { clear, openBackend } from './pool.ts';

const capability = { accessType: 'block', accessMode: 'SINGLE_NODE_WRITER' } as const;
const access: NodeAccess = { nodeId: 'n1', attachmentId: 'x1', capability, readonly: false };
const mebibyte = 2 ** 20;

const works: Readonly<Record<string, Work>> = {
  create: async (backend, id) => () => makeVolume(backend, { id }),
  'create from a snapshot': copyOf('snapshot'),
  'create from a volume': copyOf('volume'),
  async expand(backend, id) {
    const volume = await makeVolume(backend, { id });
    return async () => {
      const grown = await backend.expand?.(volume, { requiredBytes: 4 * mebibyte, limitBytes: 0 });
      assert.equal(grown?.sizeBytes, 4 * mebibyte);
    };
  },
  async attach(backend, id) {
    const volume = await makeVolume(backend, { id });
    return () => backend.attach(volume, access);
  },
  async 'detach of a node that has the volume open'(backend, id) {
    const volume = await makeVolume(backend, { id });
    await backend.attach(volume, access);
    await openImage(volume);
    return async () => {
      await backend.detach(volume, 'n1');
      assert.deepEqual(watchersOf(id), []);
    };
  },
  async 'snapshots of a group'(backend, id) {
    const volumes = [await makeVolume(backend, { id }), await makeVolume(backend, { id: 'a.second' })];
    const members = newGroup(volumes);
    for (const member of members) await backend.snapshots?.delete(member);
    return async () => assert.equal((await backend.snapshots?.createGroup?.(members))?.length, 2);
  },
  async delete(backend, id) {
    const volume = await makeVolume(backend, { id });
    return () => backend.delete(volume);
  },
  "delete of a snapshot's source, and then of the snapshot": deleteWithSnapshot,
};

function copyOf(kind: VolumeSource['kind']): Work {
  return async (backend, id) => {
    const volume = await makeVolume(backend, { id: 'a.source' });
    content.write(volume.id, 0, Buffer.from('old'));
    const source = await sourceOf(backend, kind, volume);
    return async () => {
      await makeVolume(backend, { id, source });
      assertHolds(content, id, 0, 'old');
    };
  };
}

let client: ChildProcess | undefined;
after(() => client?.kill('SIGKILL'));

/** Makes a client watch a volume's image, as a node does. */
async function openImage({ id }: KnownVolume): Promise<void> {
  client?.kill('SIGKILL');
  // The client ends with its standard input.
  client = spawn('rbd', ['watch', imageOf(id)], { stdio: ['pipe', 'ignore', 'ignore'] });
  const isOpen = (): true | undefined => watchersOf(id).length > 0 || undefined;
  assert.ok(await poll(isOpen, { everyMs: 100, timeoutMs: 120_000 }));
}

testCrashes(works, { open: openBackend, clear, requireNothingLeft });
