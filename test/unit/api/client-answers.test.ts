import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Problem, type ProblemCode } from '../../../src/api/problem.ts';
import { maxBodyBytes } from '../../../src/api/operations.ts';
import { json, problem, sampleVolume, startStorageApi, type Step } from '../../fakes/storage-api.ts';
import { canary, clientOf, within } from './calling.ts';

const html = (status: number): Step => ({
  status,
  headers: { 'content-type': 'text/html' },
  body: '<html>default backend</html>',
});
const redirect = (status: number): Step => ({ status, headers: { location: '/v1/elsewhere' } });

type Row = { readonly name: string; readonly step: Step; readonly code: ProblemCode; readonly says: RegExp };

const answers: readonly Row[] = [
  {
    name: "a proxy's HTML 404 is UNAVAILABLE",
    step: html(404),
    code: 'UNAVAILABLE',
    says: /in front of the storage API answered with status 404/,
  },
  {
    name: 'a JSON 404 that is no problem document is UNAVAILABLE',
    step: json(404, { message: 'Not Found' }),
    code: 'UNAVAILABLE',
    says: /status 404/,
  },
  {
    name: 'a 404 problem document is NOT_FOUND',
    step: problem('NOT_FOUND', 'no volume "a.x"'),
    code: 'NOT_FOUND',
    says: /^no volume "a.x" \(request r-1\)$/,
  },
  {
    name: 'the code decides, not the status',
    step: problem('ABORTED', 'busy', 500),
    code: 'ABORTED',
    says: /busy/,
  },
  {
    name: 'a full pool is RESOURCE_EXHAUSTED',
    step: problem('RESOURCE_EXHAUSTED', 'the pool is full'),
    code: 'RESOURCE_EXHAUSTED',
    says: /full/,
  },
  {
    name: 'an unknown code is UNAVAILABLE',
    step: json(400, { code: 'TEAPOT', detail: 'short and stout' }),
    code: 'UNAVAILABLE',
    says: /status 400/,
  },
  {
    name: 'a code named as a property of every object is UNAVAILABLE',
    step: json(400, { code: 'constructor', detail: 'x' }),
    code: 'UNAVAILABLE',
    says: /status 400/,
  },
  {
    name: '403 is UNAVAILABLE with the reason',
    step: problem('PERMISSION_DENIED', 'cluster "a" is suspended'),
    code: 'UNAVAILABLE',
    says: /token: cluster "a" is suspended/,
  },
  {
    name: 'a code that speaks of our token is UNAVAILABLE with any status',
    step: problem('UNAUTHENTICATED', 'claim "aud" is wrong', 400),
    code: 'UNAVAILABLE',
    says: /claim "aud"/,
  },
  {
    name: '429 is UNAVAILABLE',
    step: problem('RESOURCE_EXHAUSTED', 'slow down', 429),
    code: 'UNAVAILABLE',
    says: /fewer calls/,
  },
  { name: '500 without a document is UNAVAILABLE', step: html(500), code: 'UNAVAILABLE', says: /status 500/ },
  {
    name: 'malformed JSON is UNAVAILABLE',
    step: { status: 200, headers: { 'content-type': 'application/json' }, body: '{"id":' },
    code: 'UNAVAILABLE',
    says: /malformed answer to GET/,
  },
  {
    name: 'an answer of the wrong schema is UNAVAILABLE and names the field',
    step: json(200, { ...sampleVolume(), sizeBytes: 'big' }),
    code: 'UNAVAILABLE',
    says: /sizeBytes/,
  },
  {
    name: 'a page of HTML with status 200 is UNAVAILABLE',
    step: html(200),
    code: 'UNAVAILABLE',
    says: /malformed/,
  },
  {
    name: '204 where a body must be is UNAVAILABLE',
    step: { status: 204 },
    code: 'UNAVAILABLE',
    says: /malformed/,
  },
  {
    name: 'a body over the cap is UNAVAILABLE',
    step: json(200, { ...sampleVolume(), pad: 'x'.repeat(maxBodyBytes) }),
    code: 'UNAVAILABLE',
    says: /more than 4194304 bytes/,
  },
  { name: 'a 301 is not followed', step: redirect(301), code: 'UNAVAILABLE', says: /status 301/ },
  { name: 'a 302 is not followed', step: redirect(302), code: 'UNAVAILABLE', says: /status 302/ },
  { name: 'a 307 is not followed', step: redirect(307), code: 'UNAVAILABLE', says: /status 307/ },
];

for (const { name, step, code, says } of answers) {
  test(name, async t => {
    const api = await startStorageApi(t, [step]);
    const client = clientOf(t, api.url);
    const error = await failureOf(client.getVolume({ volumeId: 'a.pvc-1' }, within(5_000)));
    assert.equal(error.code, code);
    assert.match(error.detail, says);
    assert.doesNotMatch(`${error.stack} ${String(error.cause)}`, new RegExp(canary));
    assert.equal(api.received.length, 1);
  });
}

test('a deletion that something in front of the API answered with a page is not taken for done', async t => {
  const api = await startStorageApi(t, [html(200)]);
  const error = await failureOf(clientOf(t, api.url).deleteVolume({ volumeId: 'a.pvc-1' }, within(5_000)));
  assert.equal(error.code, 'UNAVAILABLE');
});

for (const [name, step] of [
  ['204', { status: 204 }],
  ['200 and JSON', json(200, {})],
] as const) {
  test(`a deletion answered with ${name} is done`, async t => {
    const api = await startStorageApi(t, [step]);
    await clientOf(t, api.url).deleteVolume({ volumeId: 'a.pvc-1' }, within(5_000));
    assert.equal(api.received[0]?.method, 'DELETE');
  });
}

test('a body over the cap takes its connection with it, and the next call works', async t => {
  const tooLong = json(200, { ...sampleVolume(), pad: 'x'.repeat(maxBodyBytes * 2) });
  const api = await startStorageApi(t, [tooLong, json(200, sampleVolume())]);
  const client = clientOf(t, api.url);
  await failureOf(client.getVolume({ volumeId: 'a.pvc-1' }, within(5_000)));
  await client.getVolume({ volumeId: 'a.pvc-1' }, within(5_000));
  assert.equal(api.received.length, 2);
  assert.ok(api.connections.size <= 2, `${api.connections.size} connections are open`);
});

test('a request says who asks, for how long it waits, and what it is known as', async t => {
  const api = await startStorageApi(t, [json(200, sampleVolume())]);
  const client = clientOf(t, `${api.url}/behind/a/prefix/`);
  const spec = { name: 'pvc-1', capabilities: [] };
  assert.deepEqual(
    await client.createVolume({ volumeId: 'a.pvc-1', body: spec }, within(5_500)),
    sampleVolume(),
  );
  const [request] = api.received;
  assert.equal(request?.method, 'PUT');
  assert.equal(request?.url, '/behind/a/prefix/v1/volumes/a.pvc-1');
  assert.equal(request?.headers.authorization, `Bearer ${canary}`);
  assert.equal(request?.headers['x-request-id'], 'r-0');
  assert.equal(request?.headers.prefer, 'wait=4');
  assert.deepEqual(JSON.parse(request?.body ?? ''), spec);
});

test('a list asks for its page, and a token with odd characters comes through', async t => {
  const api = await startStorageApi(t, [json(200, { volumes: [], nextPageToken: 'n' })]);
  const client = clientOf(t, api.url);
  const page = await client.listVolumes({ limit: 0, pageToken: 'a&b=c/é ' }, within(5_000));
  assert.equal(page.nextPageToken, 'n');
  const query = new URL(api.received[0]?.url ?? '', api.url).searchParams;
  assert.equal(query.get('pageToken'), 'a&b=c/é ');
  assert.equal(query.get('limit'), '0');
});

async function failureOf(work: Promise<unknown>): Promise<Problem> {
  const error = await work.then(
    () => assert.fail('it did not fail'),
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof Problem, String(error));
  return error;
}
