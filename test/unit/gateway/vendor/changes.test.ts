import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createVendor,
  Problem,
  type Answer,
  type Offer,
  type Volume,
} from '../../../../gateway/vendor/vendor.ts';

const volume = '/v1/volumes/east.pvc-1';
const capabilities = [{ accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' }];
const offer: Offer = {
  version: '1',
  features: [],
  accessModes: ['SINGLE_NODE_WRITER'],
  accessTypes: ['mount'],
};
const made: Volume = {
  id: 'east.pvc-1',
  name: 'pvc-1',
  state: 'ready',
  sizeBytes: 1,
  parameters: {},
  context: {},
  attachments: [],
  createdAt: new Date(0).toISOString(),
};
type Created = Answer<'createVolume'>;

test('slow work that fails is begun once, however often it is asked for, until somebody knows how it ended', async () => {
  const { ask, starts, end } = openSlow();
  assert.deepEqual([await ask('PUT', 0), await ask('PUT', 0)], [202, 202]);
  end(new Problem('RESOURCE_EXHAUSTED', 'it is full'));
  assert.deepEqual([await ask('PUT', 9), starts.length], [507, 1]);
  // Who asks again after that wants it to be tried again.
  assert.deepEqual([await ask('PUT', 0), starts.length], [202, 2]);
});

test('slow work of which nobody learned that it is done is not done again', async () => {
  const { ask, starts, end } = openSlow();
  assert.equal(await ask('PUT', 0), 202);
  end([201, made]);
  assert.deepEqual([await ask('PUT', 9), starts.length], [201, 1]);
});

test('how slow work ended is forgotten once another request has changed the resource', async () => {
  const { ask, starts, end } = openSlow();
  assert.equal(await ask('PUT', 0), 202);
  end([201, made]);
  assert.equal(await ask('DELETE', 9), 204);
  assert.deepEqual([await ask('PUT', 0), starts.length], [202, 2]);
});

/** A vendor whose volumes take until `end` to be created; it asks for one, and waits so many seconds. */
function openSlow() {
  const starts: PromiseWithResolvers<Created>[] = [];
  const createVolume = (): Promise<Created> => {
    const started = Promise.withResolvers<Created>();
    starts.push(started);
    return started.promise;
  };
  const operations = { createVolume, deleteVolume: (): Answer<'deleteVolume'> => [204] };
  const { request } = createVendor({ capabilities: offer, operations, authenticate: async () => {} });
  return {
    starts,
    end(how: Created | Problem): void {
      if (how instanceof Problem) starts.at(-1)?.reject(how);
      else starts.at(-1)?.resolve(how);
    },
    async ask(method: 'PUT' | 'DELETE', seconds: number): Promise<number> {
      const headers = { prefer: `wait=${seconds}`, 'content-type': 'application/json' };
      const body = method === 'PUT' ? JSON.stringify({ name: 'pvc-1', capabilities }) : null;
      return (await request(volume, { method, headers, body })).status;
    },
  };
}
