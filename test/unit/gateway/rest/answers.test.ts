import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { rest } from '../../../../gateway/backends/rest.ts';
import { maxAnswerBytes } from '../../../../src/api/limits.ts';
import { toDocument, wordsForOperators, type Problem } from '../../../../src/api/problem.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import {
  hang,
  json,
  problem,
  reset,
  sampleVolume,
  startStorageApi,
  type Step,
} from '../../../fakes/storage-api.ts';
import { createMemoryLog, mounted, temporaryDirectory } from '../../../harness/gateway.ts';
import { offer, openRest } from './open-rest.ts';

const volume = { id: 'a.pvc-1', nonce: 'n1' };
const vendorId = 'gateway.acme.a.pvc-1.n1';
const asked = {
  ...volume,
  requiredBytes: 1_048_576,
  limitBytes: 0,
  parameters: { 'fs.label': 'x' },
  capabilities: [mounted],
};
const made = sampleVolume({ id: vendorId, name: volume.id });
const moment = { everyMs: 5, timeoutMs: 10_000 };

test('a volume is created under a name with its nonce, without the parameters of its filesystem', async t => {
  const { backend, api } = await openRest(t, [json(201, made)]);
  assert.deepEqual(await backend.create(asked), { sizeBytes: made.sizeBytes, context: {} });
  const [, , put] = api.received;
  assert.deepEqual([put?.method, put?.url], ['PUT', `/v1/volumes/${vendorId}`]);
  assert.equal(put?.headers.authorization, 'Bearer secret');
  const { name, parameters } = JSON.parse(put?.body ?? '') as { name: string; parameters: object };
  assert.deepEqual([name, parameters], [volume.id, {}]);
});

test('a running request is repeated after the pause that the storage names', async t => {
  const underWay = json(202, { ...made, state: 'creating' }, { 'retry-after': '1' });
  const { backend, api } = await openRest(t, [underWay, json(200, made)]);
  const startMs = performance.now();
  await backend.create(asked);
  assert.ok(performance.now() - startMs >= 1_000);
  assert.deepEqual(
    api.received.slice(2).map(({ method, body }) => [method, body]),
    Array.from({ length: 2 }, () => ['PUT', api.received[2]?.body]),
  );
});

test('work that does not end in time is left, and does not count as failed', async t => {
  const underWay = json(202, undefined, { 'retry-after': '1' });
  const { backend } = await openRest(t, [underWay], { workTimeout: '1s' });
  await assert.rejects(backend.create(asked), { code: 'ABORTED' });
});

/** Wrong answers of a storage to a create, with the error that each causes. */
const wrong: Readonly<Record<string, readonly [Step, RegExp]>> = {
  'another volume': [json(200, { ...made, id: 'x' }), /pool "acme".*\(id is "x"/],
  'another name': [json(200, { ...made, name: 'x' }), /name is "x"/],
  'a smaller volume': [json(200, { ...made, sizeBytes: 1 }), /sizeBytes is 1/],
  'a volume that is not ready': [json(200, { ...made, state: 'creating' }), /state is "creating"/],
  'a size that is text': [json(200, { ...made, sizeBytes: '1048576' }), /\(sizeBytes: /],
  'a status of its own': [json(206, made), /status 206/],
  'a page for people': [{ status: 404, body: '<html>' }, /answered with status 404/],
  'a code that a create never has': [problem('UNIMPLEMENTED', 'no'), /UNIMPLEMENTED, which it never has/],
  'a code of its own': [json(409, { code: 'EEXIST', detail: 'no' }), /answered with status 409/],
  'a refusal of the token': [problem('PERMISSION_DENIED', 'no'), /does not accept the token/],
  nothing: [reset, /cannot be reached/],
};
for (const [what, [step, sentence]] of Object.entries(wrong))
  test(`a create that is answered with ${what} may still be running`, async t => {
    const { backend } = await openRest(t, [step]);
    await assert.rejects(backend.create(asked), (error: Problem) => {
      assert.match(wordsForOperators(error), sentence);
      return error.code === 'UNAVAILABLE';
    });
  });

for (const code of ['OUT_OF_RANGE', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION'] as const)
  test(`a create that the storage refuses with ${code} is refused with ${code}`, async t => {
    const { backend } = await openRest(t, [problem(code, 'no')]);
    await assert.rejects(backend.create(asked), { code });
  });

test('the caller learns when to come again, as the storage says', async t => {
  const full = json(503, { code: 'UNAVAILABLE', detail: 'full' }, { 'retry-after': '7' });
  const { backend } = await openRest(t, [full], { workTimeout: '1s' });
  await assert.rejects(backend.create(asked), { code: 'UNAVAILABLE', retryAfterS: 7 });
});

test('a storage that does not know a volume to delete is not believed', async t => {
  const { backend } = await openRest(t, [problem('NOT_FOUND', 'no such volume')]);
  await assert.rejects(backend.delete(volume), { code: 'UNAVAILABLE' });
});

test('a storage that does not answer is left alone for a while, and called again then', async t => {
  const steps = [reset, reset, reset, json(200, made)];
  const { backend, api, logLines } = await openRest(t, steps, { breakAfter: 2, breakFor: '3s' });
  for (let count = 0; count < 20; count++)
    await assert.rejects(backend.create(asked), { code: 'UNAVAILABLE' });
  assert.equal(api.received.length, 4);
  const sizeBytes = await poll(
    () =>
      backend.create(asked).then(
        created => created.sizeBytes,
        () => undefined,
      ),
    moment,
  );
  assert.deepEqual([sizeBytes, api.received.length], [made.sizeBytes, 6]);
  assert.equal(
    logLines.filter(line => line.startsWith('warn a storage fails; requests to it pause')).length,
    1,
  );
  assert.equal(logLines.filter(line => line.startsWith('info a storage answers again')).length, 1);
});

test('clusters do not learn the address of a storage that cannot be reached, and operators do', async t => {
  const settings = { breakAfter: 2, breakFor: '3s', workTimeout: '1s' };
  const { backend, api } = await openRest(t, [reset], settings);
  for (let count = 0; count < 4; count++)
    await assert.rejects(backend.create(asked), (error: Problem) => {
      assert.match(
        error.detail,
        /^pool "acme": its storage cannot be used now; try again, or ask an operator/,
      );
      assert.doesNotMatch(JSON.stringify(toDocument(error)), /127\.0\.0\.1|localhost|tls/);
      assert.match(
        error.reason ?? '',
        new RegExp(
          `^pool "acme": .*(${new URL(api.url).host}|pause for 3 s, because the last 2 failed: it [a-z])`,
        ),
      );
      return true;
    });
});

test("only operators learn the address of a proxy, of a refused token's storage and of a silent one", async t => {
  const steps = [{ status: 302, body: '' }, json(401, {}), json(401, {}), hang];
  const { backend, api } = await openRest(t, steps, { workTimeout: '1s' });
  const { origin } = new URL(api.url);
  for (const words of [
    `pool "acme": something in front of the storage API at "${origin}" answered with status 302; give the address that it redirects to`,
    `pool "acme": the storage API at "${origin}" does not accept the token: status 401; check the token or its key, and that the server knows it`,
    `pool "acme": the storage API at "${origin}" did not answer within 1 s; check the address, the server and its log, and the network on the way`,
  ])
    await assert.rejects(backend.create(asked), (error: Problem) => {
      assert.equal(error.reason, words);
      assert.match(
        error.detail,
        /^pool "acme": its storage cannot be used now; try again, or ask an operator/,
      );
      return true;
    });
});

test('a failure says whether the storage is silent, reports an error, or something else answers', async t => {
  const page = { status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>Welcome</h1>' };
  for (const [step, outage] of [
    [reset, 'silent'],
    [hang, 'silent'],
    [json(500, 'boom'), 'errors'],
    [problem('UNAVAILABLE', 'the disk is busy'), 'errors'],
    [problem('DEADLINE_EXCEEDED', 'the disk is slow'), 'errors'],
    [problem('UNIMPLEMENTED', 'no such code of this operation'), 'errors'],
    [json(401, {}), 'errors'],
    [page, 'foreign'],
    [json(200, 'welcome'), 'foreign'],
    [json(200, { id: 'other' }), 'errors'],
    [json(200, { id: 'x'.repeat(maxAnswerBytes) }), 'errors'],
    [{ status: 302, body: '' }, 'foreign'],
    [json(404, {}), 'foreign'],
  ] as const) {
    const { backend } = await openRest(t, [step], {
      breakAfter: 2,
      breakFor: '30s',
      workTimeout: '1s',
      tries: 1,
    });
    // Calls that the circuit breaker holds back fail as the last ones did.
    for (let count = 0; count < 3; count++)
      await assert.rejects(backend.create(asked), (error: Problem) => {
        assert.equal(error.outage, outage, `${JSON.stringify(step)} ${error.reason}`);
        return true;
      });
  }
});

test('a failure of the token is not one of the storage', async t => {
  const token = join(temporaryDirectory(t), 'token');
  writeFileSync(token, 'secret');
  const { backend } = await openRest(t, [json(200, {})], { token });
  rmSync(token);
  await assert.rejects(backend.create(asked), (error: Problem) => {
    assert.match(wordsForOperators(error), /token" cannot be read/);
    assert.equal(error.outage, undefined);
    return true;
  });
});

test('a refusal of the storage itself is an answer, however many come in a row', async t => {
  const { backend, api } = await openRest(t, [problem('UNAVAILABLE', 'the disk is busy')], { breakAfter: 2 });
  for (let count = 0; count < 6; count++)
    await assert.rejects(backend.create(asked), { code: 'UNAVAILABLE' });
  assert.equal(api.received.length, 8);
});

test('a storage that accepts requests and never answers is left alone as well', async t => {
  const settings = { breakAfter: 1, requestTimeout: '1s', workTimeout: '2s' };
  const { backend, api } = await openRest(t, [hang], settings);
  await assert.rejects(backend.create(asked), { code: /UNAVAILABLE|DEADLINE_EXCEEDED/ });
  await assert.rejects(backend.create(asked), { code: 'UNAVAILABLE' });
  assert.equal(api.received.length, 3);
});

test("the pool offers the storage's current capabilities", async t => {
  const limits = { minimumVolumeBytes: 10, maximumVolumeBytes: 1_000, stepBytes: 10 };
  const more = { ...offer, features: ['expand', 'clone', 'capacity'], limits };
  const { backend } = await openRest(t, [json(200, more)], { lookEvery: '20ms' });
  assert.deepEqual([backend.sources, backend.sizes, backend.snapshots], [[], undefined, undefined]);
  assert.ok(await poll(() => backend.available && true, moment));
  assert.deepEqual(backend.sources, ['volume']);
  const sizes = { minimumBytes: 10, maximumBytes: 1_000, stepBytes: 10, defaultBytes: 2 ** 30 };
  assert.deepEqual(backend.sizes, sizes);
});

test('a storage that stops reporting its capabilities keeps the last ones, which is logged once', async t => {
  const { backend, api, logLines } = await openRest(t, [json(200, { version: '2' })], { lookEvery: '20ms' });
  await api.until(6);
  assert.ok(backend.expand);
  assert.equal(logLines.filter(line => line.includes('did not report its capabilities')).length, 1);
});

test("new volumes that may contain others' data get no filesystem", async t => {
  const { zeroed: _, ...unsaid } = offer;
  const rows = [
    [unsaid, ['block']],
    [{ ...unsaid, areShares: true }, ['mount', 'block']],
    [offer, ['mount', 'block']],
  ] as const;
  for (const [offered, accessTypes] of rows) {
    const { backend } = await openRest(t, [json(200, offered)], { offered });
    assert.deepEqual(backend.accessTypes, accessTypes);
  }
});

test("parameters are checked by the storage's JSON Schema, which is passed on", async t => {
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    properties: { tier: { enum: ['a', 'b'] } },
    required: ['tier'],
    additionalProperties: false,
  };
  const offered = { ...offer, parameters: { volume: schema } };
  const { backend } = await openRest(t, [json(200, offered)], { offered });
  assert.deepEqual(backend.parameters.parse({ tier: 'a' }), { tier: 'a' });
  const { error } = backend.parameters.safeParse({ tier: 'c', colour: 'red' });
  assert.deepEqual(error?.issues.map(({ path }) => path.join('.')).toSorted(), ['colour', 'tier']);
  assert.deepEqual(backend.parameters.toJSONSchema()['properties'], schema.properties);
});

/** Capabilities that keep a pool from being opened. */
const unusable: Readonly<Record<string, readonly [Step, Readonly<Record<string, unknown>>]>> = {
  'nothing that is known': [json(200, {}), {}],
  'another pool than is meant': [json(200, offer), { pool: 'gold' }],
  'a JSON Schema that is none': [json(200, { ...offer, parameters: { volume: { type: 'objekt' } } }), {}],
  'a JSON Schema of 3 MB': [
    json(200, { ...offer, parameters: { volume: { description: 'x'.repeat(3_000_000) } } }),
    {},
  ],
  'the same a hundred thousand times': [
    json(200, { ...offer, accessModes: Array.from({ length: 100_000 }, () => 'SINGLE_NODE_WRITER') }),
    {},
  ],
  nothing: [reset, {}],
};
for (const [what, [step, more]] of Object.entries(unusable))
  test(`a pool whose storage reports ${what} is opened later`, async t => {
    const api = await startStorageApi(t, [step]);
    const directory = temporaryDirectory(t);
    writeFileSync(join(directory, 'token'), 'secret');
    const settings = rest.settings.parse({ url: api.url, token: 'token', tries: 1, ...more });
    const { log } = createMemoryLog();
    await assert.rejects(rest.open(settings, { name: 'acme', log, directory }), { code: 'UNAVAILABLE' });
    await poll(() => api.connections.size === 0 || undefined, moment);
    assert.equal(api.connections.size, 0);
  });

test('contradictory settings are refused', () => {
  const good = { url: 'https://storage.acme.example/fairlead' };
  const oauth = { url: 'https://id.acme.example/token', clientId: 'a', clientSecret: 'secret' };
  const bad = [
    {},
    { url: 'http://storage.acme.example' },
    { ...good, token: 'token', oauth },
    { ...good, oauth: { ...oauth, url: 'http://id.acme.example' } },
    { ...good, token: 'token', audience: 'acme' },
    { ...good, oauth, audience: 'acme' },
    { ...good, tls: { cert: 'cert.pem' } },
    { url: 'http://127.0.0.1', tls: { cert: 'cert.pem', key: 'key.pem' } },
    { ...good, requestTimeout: 'soon' },
    { ...good, colour: 'red' },
  ];
  assert.ok(rest.settings.safeParse(good).success);
  assert.ok(rest.settings.safeParse({ ...bad[1], allowHttp: true }).success);
  for (const one of bad) assert.ok(!rest.settings.safeParse(one).success, JSON.stringify(one));
});

test('a volume that the storage made outside the requested topology is refused', async t => {
  const [here, there] = [{ zone: 'a' }, { zone: 'b' }];
  const answer = json(201, { ...made, topology: [there] });
  const { backend } = await openRest(t, [answer, answer]);
  await assert.rejects(backend.create({ ...asked, topologies: [here] }), { code: 'UNAVAILABLE' });
  const { segments } = await backend.create({ ...asked, topologies: [here, there] });
  assert.deepEqual(segments, there);
});
