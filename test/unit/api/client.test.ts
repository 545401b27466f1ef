import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maxAnswerBytes } from '../../../src/api/limits.ts';
import { Problem, type ProblemCode } from '../../../src/api/problem.ts';
import { json, problem, sampleVolume, type Step } from '../../fakes/storage-api.ts';
import { callerOf, canary, scripted, spec, within } from './calling.ts';

const html = (status: number): Step => ({
  status,
  headers: { 'content-type': 'text/html' },
  body: '<html>default backend</html>',
});
const broken = { status: 200, headers: { 'content-type': 'application/json' }, body: '{"id":' };

type Row = readonly [name: string, step: Step, says: RegExp, code?: ProblemCode];

const answers: readonly Row[] = [
  [
    'a refusal that repeats the token',
    problem('UNAUTHENTICATED', `"${canary}" is bad`),
    /the token: "…" is bad$/,
  ],
  [
    "a proxy's page with status 404",
    html(404),
    /in front of the storage API at \S+ answered with status 404/,
  ],
  ['a page with status 200', html(200), /malformed/],
  ['a redirection, which is not followed', { status: 307, headers: { location: '/v1' } }, /status 307/],
  ['a problem document', problem('NOT_FOUND', 'no "a.x"'), /^no "a.x"$/, 'NOT_FOUND'],
  ['a problem document with another status', problem('ABORTED', 'busy', 500), /busy/, 'ABORTED'],
  ['a document with an unknown code', json(400, { code: 'TEAPOT', detail: 'stout' }), /status 400/],
  ['a 403', problem('PERMISSION_DENIED', 'cluster "a" is suspended'), /token: cluster "a" is suspended/],
  ['a code that speaks of our token', problem('UNAUTHENTICATED', 'claim "aud"', 400), /claim "aud"/],
  ['a 429', problem('RESOURCE_EXHAUSTED', 'slow down', 429), /fewer calls/],
  ['malformed JSON', broken, /malformed answer to GET/],
  ['a body of another schema', json(200, { ...sampleVolume(), sizeBytes: 'big' }), /sizeBytes/],
  ['204 where a body must be', { status: 204 }, /malformed/],
];

for (const [name, step, says, code = 'UNAVAILABLE'] of answers) {
  test(`${name} is ${code}`, async t => {
    const { api, get } = await scripted(t, [step]);
    await assert.rejects(get(), error => {
      assert.ok(error instanceof Problem);
      assert.equal(error.code, code);
      assert.match(error.detail, says);
      assert.doesNotMatch(`${error.stack} ${String(error.cause)}`, new RegExp(canary));
      return true;
    });
    assert.ok(api.received.length <= 2);
  });
}

test('a body over the cap is UNAVAILABLE and takes its connection with it, and the next call works', async t => {
  const tooLong = json(200, { ...sampleVolume(), pad: 'x'.repeat(maxAnswerBytes) });
  const { api, get } = await scripted(t, [tooLong, json(200, sampleVolume())]);
  await assert.rejects(get(), { code: 'UNAVAILABLE', detail: /more than 4194304 bytes/ });
  await get();
  assert.equal(api.received.length, 2);
  assert.ok(api.connections.size <= 2, `${api.connections.size} connections are open`);
});

test('a request names its caller, its timeout and its id', async t => {
  const { api } = await scripted(t, [json(200, sampleVolume())]);
  const { create } = callerOf(t, `${api.url}/behind/a/prefix/`);
  assert.deepEqual(await create(5_500), sampleVolume());
  const [{ method, url, headers, body } = assert.fail('nothing was asked')] = api.received;
  assert.deepEqual([method, url], ['PUT', '/behind/a/prefix/v1/volumes/a.pvc-1']);
  assert.equal(headers.authorization, `Bearer ${canary}`);
  assert.equal(headers['x-request-id'], 'r-0');
  assert.equal(headers.prefer, 'wait=4');
  assert.deepEqual(JSON.parse(body), spec);
});

test('a list requests its page, and a token with odd characters arrives', async t => {
  const { api, client } = await scripted(t, [json(200, { volumes: [], nextPageToken: 'n' })]);
  const page = await client.listVolumes({ limit: 0, pageToken: 'a&b=c/é ' }, within());
  assert.equal(page.nextPageToken, 'n');
  const query = new URL(api.received[0]?.url ?? '', api.url).searchParams;
  assert.deepEqual(Object.fromEntries(query), { limit: '0', pageToken: 'a&b=c/é ' });
});

test('an id stays in its segment of the path, even with odd characters', async t => {
  const { api, client } = await scripted(t, [{ status: 204 }]);
  const climbing = ['a/b', '../../v2/admin', '%2e%2e', '%2F', '...', '\\..\\'];
  for (const id of [...climbing, 'a b', '日本', 'a?b=c', 'a#b', 'a;b']) {
    await client.detachVolume({ volumeId: id, nodeId: id }, within());
    // As a server reads it: the path is normalized first, and then decoded.
    const { pathname } = new URL(api.received.at(-1)?.url ?? '', api.url);
    const segments = pathname.split('/').slice(1).map(decodeURIComponent);
    assert.deepEqual(segments, ['v1', 'volumes', id, 'attachments', id]);
  }
});

test('an id that no path can contain is not found', async t => {
  const { api, client } = await scripted(t, [json(200, sampleVolume())]);
  for (const volumeId of ['', '.', '..', '\uD800', 'x'.repeat(257), 'é'.repeat(129)]) {
    await assert.rejects(client.getVolume({ volumeId }, within()), { code: 'NOT_FOUND' });
    await assert.rejects(client.createVolume({ volumeId, body: spec }, within()), { code: 'NOT_FOUND' });
    await client.deleteVolume({ volumeId }, within());
    await client.detachVolumeFromAllNodes({ volumeId }, within());
  }
  assert.equal(api.received.length, 0);
});
