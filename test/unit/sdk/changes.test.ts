import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { poll } from '../../../src/lib/concurrency.ts';
import {
  createVendor,
  Problem,
  type Answer,
  type Offer,
  type Volume,
} from '../../../src/sdk/server/vendor.ts';

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
type CreateAnswer = Answer<'createVolume'>;

test('failed slow work runs once, however often it is requested, until a caller has learned of its failure', async () => {
  const { ask, starts, end } = openSlow();
  assert.deepEqual([await ask('PUT', 0), await ask('PUT', 0)], [202, 202]);
  end(new Problem('RESOURCE_EXHAUSTED', 'it is full'));
  assert.deepEqual([await ask('PUT', 9), starts.length], [507, 1]);
  // A further request after that asks for another attempt.
  assert.deepEqual([await ask('PUT', 0), starts.length], [202, 2]);
});

test('finished slow work is not repeated before a caller has learned of it', async () => {
  const { ask, starts, end } = openSlow();
  assert.equal(await ask('PUT', 0), 202);
  end([201, made]);
  assert.deepEqual([await ask('PUT', 9), starts.length], [201, 1]);
});

test('the outcome of slow work is forgotten once another request has changed the resource', async () => {
  const { ask, starts, end } = openSlow();
  assert.equal(await ask('PUT', 0), 202);
  end([201, made]);
  assert.equal(await ask('DELETE', 9), 204);
  assert.deepEqual([await ask('PUT', 0), starts.length], [202, 2]);
});

test('no snapshot is deleted while volumes are made from it, and none is made after its deletion has begun', async () => {
  const steps: string[] = [];
  const ends = new Map<string, () => void>();
  const step = async (name: string): Promise<void> => {
    steps.push(name);
    await new Promise<void>(resolve => void ends.set(name, resolve));
    ends.delete(name);
  };
  const operations = {
    async createVolume({ volumeId }: { readonly volumeId: string }): Promise<CreateAnswer> {
      await step(volumeId);
      return [201, { ...made, id: volumeId }];
    },
    async deleteSnapshot(): Promise<Answer<'deleteSnapshot'>> {
      await step('delete');
      return [204];
    },
  };
  const { request } = createVendor({
    capabilities: { ...offer, features: ['snapshots', 'restore'] },
    operations,
    authenticate: async () => {},
    areIndependent: true,
  });
  const source = { kind: 'snapshot', snapshotId: 'east.s' };
  const body = JSON.stringify({ name: 'pvc-1', capabilities, source });
  const headers = { 'content-type': 'application/json' };
  const copy = (id: string) => request(`/v1/volumes/${id}`, { method: 'PUT', headers, body });
  const begun = async (...expected: readonly string[]): Promise<void> => {
    await poll(async () => steps.length >= expected.length || undefined, { everyMs: 2, timeoutMs: 5_000 });
    // By now a step that does not wait has begun.
    await sleep(20);
    assert.deepEqual(steps, expected);
  };
  const answers = [copy('east.one'), copy('east.two')];
  await begun('east.one', 'east.two');
  answers.push(request('/v1/snapshots/east.s', { method: 'DELETE' }));
  await sleep(20);
  answers.push(copy('east.late'));
  ends.get('east.one')?.();
  await begun('east.one', 'east.two');
  ends.get('east.two')?.();
  await begun('east.one', 'east.two', 'delete');
  ends.get('delete')?.();
  await begun('east.one', 'east.two', 'delete', 'east.late');
  ends.get('east.late')?.();
  assert.deepEqual(
    (await Promise.all(answers)).map(({ status }) => status),
    [201, 201, 204, 201],
  );
});

/** Opens a vendor whose volumes are created only after `end`, and a caller that waits this many seconds. */
function openSlow() {
  const starts: PromiseWithResolvers<CreateAnswer>[] = [];
  const createVolume = (): Promise<CreateAnswer> => {
    const started = Promise.withResolvers<CreateAnswer>();
    starts.push(started);
    return started.promise;
  };
  const operations = { createVolume, deleteVolume: (): Answer<'deleteVolume'> => [204] };
  const { request } = createVendor({ capabilities: offer, operations, authenticate: async () => {} });
  return {
    starts,
    end(how: CreateAnswer | Problem): void {
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
