import assert from 'node:assert/strict';
import { test } from 'node:test';
import { json, sampleVolume, startStorageApi } from '../../fakes/storage-api.ts';
import { clientOf, within } from './calling.ts';

const oddIds = [
  'a/b',
  '../../v2/admin',
  '%2e%2e',
  '%2F',
  'a b',
  'ü',
  '日本',
  'a?b=c',
  'a#b',
  'a;b',
  '...',
  '\\..\\',
];

for (const id of oddIds) {
  test(`the id ${JSON.stringify(id)} stays in its segment of the path`, async t => {
    const api = await startStorageApi(t, [json(200, sampleVolume()), { status: 204 }]);
    const client = clientOf(t, api.url);
    await client.getVolume({ volumeId: id }, within(5_000));
    await client.detachVolume({ volumeId: id, nodeId: id }, within(5_000));
    assert.deepEqual(
      api.received.map(request => segmentsOf(request.url, api.url)),
      [
        ['v1', 'volumes', id],
        ['v1', 'volumes', id, 'attachments', id],
      ],
    );
  });
}

for (const id of ['', '.', '..', '\uD800']) {
  test(`the id ${JSON.stringify(id)}, which no path can hold, names nothing`, async t => {
    const api = await startStorageApi(t, [json(200, sampleVolume())]);
    const client = clientOf(t, api.url);
    await assert.rejects(client.getVolume({ volumeId: id }, within(5_000)), { code: 'NOT_FOUND' });
    await assert.rejects(
      client.createVolume({ volumeId: id, body: { name: 'x', capabilities: [] } }, within(5_000)),
      {
        code: 'NOT_FOUND',
      },
    );
    await client.deleteVolume({ volumeId: id }, within(5_000));
    await client.detachVolumeFromAllNodes({ volumeId: id }, within(5_000));
    assert.equal(api.received.length, 0);
  });
}

/** As a server would read it: the path is normalized first, and decoded then. */
function segmentsOf(url: string, base: string): string[] {
  return new URL(url, base).pathname.split('/').slice(1).map(decodeURIComponent);
}
