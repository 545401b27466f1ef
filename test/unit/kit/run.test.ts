import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { listen } from '../../harness/listen.ts';
import { type StorageClient } from '../../../src/api/client.ts';
import { keyCredentials, tokenCredentials } from '../../../src/kit/http/credentials.ts';
import type { Report, Result } from '../../../src/kit/report.ts';
import { verify, type VerifyOptions } from '../../../src/kit/run.ts';
import { verifySettings } from '../../../src/kit/settings.ts';
import { verifyCommand } from '../../../src/kit/verify.ts';
import type { Progress } from '../../../src/lib/words/notice.ts';
import { readSettings } from '../../../src/lib/settings.ts';
import { runOptions } from '../../fakes/storages/kit.ts';
import { volumeSpec } from '../../harness/gateway.ts';
import { runGateway } from '../../harness/gateway/program.ts';

const inTime = () => ({ deadlineMs: Date.now() + 60_000 });

test('a correct server passes the checks and holds nothing afterwards', async t => {
  const { options, client } = await startRight(t);
  const shown: Result[] = [];
  const waited: Progress[] = [];
  const report = await verify({
    ...options,
    only: ['FL-3.1', 'FL-8.1-3', 'FL-8.4'],
    show: result => shown.push(result),
    announce(work, progress) {
      waited.push(progress);
      return work;
    },
  });
  const counts = { total: report.results.length, unit: 'requirements' };
  assert.deepEqual(
    waited.filter(({ what }) => what.startsWith('the check of')),
    report.results.map(({ id }, done) => ({ what: `the check of ${id}`, done, ...counts })),
  );
  assert.deepEqual(failed(report), []);
  assert.deepEqual(report.left, []);
  assert.deepEqual(report.results.map(({ id }) => id).slice(0, 2), ['FL-3.1-1', 'FL-3.1-2']);
  assert.deepEqual(shown, report.results);
  assert.deepEqual((await client.listVolumes({}, inTime())).volumes, []);
});

test("a server with others' volumes is left alone, unless an option allows it", async t => {
  const { options, client } = await startRight(t);
  // A foreign name may begin like the kit's.
  for (const name of ['theirs', 'verify-theirs'])
    await client.createVolume({ volumeId: `a.${name}`, body: volumeSpec(name) }, inTime());
  await assert.rejects(verify({ ...options, only: ['FL-3.4'] }), /"a\.theirs".*--allow-foreign/);
  const report = await verify({ ...options, only: ['FL-3.4'], allowForeign: true });
  assert.deepEqual(failed(report), []);
  const { volumes } = await client.listVolumes({}, inTime());
  assert.deepEqual(
    volumes.map(({ id }) => id),
    ['a.theirs', 'a.verify-theirs'],
  );
});

test('the remains of an earlier run are removed, unless that run may still be running', async t => {
  const { options, client } = await startRight(t);
  const volumeId = 'a.verify-s1-left';
  const { capabilities } = volumeSpec('x');
  await client.createVolume({ volumeId, body: volumeSpec('left') }, inTime());
  await client.putNode({ nodeId: 'n', body: {} }, inTime());
  const [capability] = capabilities;
  assert.ok(capability);
  const body = { capability, readonly: false };
  await client.attachVolume({ volumeId, nodeId: 'n', body }, inTime());
  const [old, young] = [2 * 3_600_000, 0].map(agoMs => `a.verify-7s1-${(Date.now() - agoMs).toString(36)}-1`);
  for (const id of [old, young])
    await client.createVolume({ volumeId: String(id), body: volumeSpec(`of-${id}`) }, inTime());
  const report = await verify({ ...options, only: ['FL-6.1-1', 'FL-7.1-1'] });
  assert.deepEqual([failed(report), report.left], [[], []]);
  const { volumes } = await client.listVolumes({}, inTime());
  assert.deepEqual(
    volumes.map(({ id }) => id),
    [young],
  );
});

test('an interrupted run removes its resources', async t => {
  const { options, client } = await startRight(t);
  const end = new AbortController();
  const report = await verify({
    ...options,
    signal: end.signal,
    // In the middle of the second check.
    show: () => void setImmediate(() => end.abort()),
  });
  assert.equal(report.isInterrupted, true);
  assert.ok(report.results.length < 10, `${report.results.length} results`);
  assert.deepEqual((await client.listVolumes({}, inTime())).volumes, []);
  assert.deepEqual((await client.listSnapshots({}, inTime())).snapshots, []);
});

test('a run does not begin if nothing answers or the credentials are refused', async t => {
  const { options } = await startRight(t);
  const nowhere = { url: new URL('http://127.0.0.1:1') };
  await assert.rejects(
    verify({ ...options, target: nowhere }),
    /does not answer: it refuses connections; start/,
  );
  const credentials = tokenCredentials('wrong');
  await assert.rejects(verify({ ...options, credentials }), /refuses the credentials with status 401/);
});

test('--only of a name that no requirement, section or chapter has is an error', async t => {
  const { options } = await startRight(t);
  await assert.rejects(
    verify({ ...options, only: ['FL-3.1', 'FL-9.9', 'FL-3.1-99'] }),
    /^Error: --only "FL-9\.9", "FL-3\.1-99": no requirement, section or chapter has this name; write it as/,
  );
  const { values } = readSettings(verifySettings, {
    argv: ['--url', 'http://127.0.0.1:1', '--only', 'FL-12'],
    env: {},
  });
  assert.ok(values);
  await assert.rejects(verifyCommand.run(values), /--only "FL-12"/);
});

test('a run that is to fail fast ends at the first MUST that does not hold', async t => {
  const { options } = await startRight(t);
  const url = await serveNothing(t);
  const only = ['FL-1.2-1', 'FL-1.2-2', 'FL-3.1-1'];
  const report = await verify({ ...options, target: { url }, only, isFailFast: true });
  const outcomes = report.results.map(({ id, outcome }) => `${id} ${outcome}`);
  assert.deepEqual(outcomes, ['FL-1.2-1 FAIL']);
});

test('a server that hangs delays a run only twice, however many checks need the operation', async t => {
  const { options } = await startRight(t);
  const url = await serveNothing(t, () => {});
  const report = await verify({ ...options, target: { url }, timeoutMs: 2_000, only: ['FL-3'] });
  assert.ok(failed(report).length > 0);
  assert.ok(
    report.results.some(({ because }) => /createVolume exceeded its time 2 times/.test(because ?? '')),
  );
});

test('work that never ends is a fault of FL-1.3-1, even if an earlier check meets it', async t => {
  const { options } = await startRight(t);
  const url = await serveNothing(t, response => response.writeHead(202, { 'retry-after': '1' }).end());
  const report = await verify({ ...options, target: { url }, timeoutMs: 2_000, only: ['FL-1.1', 'FL-1.3'] });
  assert.deepEqual(
    failed(report).map(({ id }) => id),
    ['FL-1.3-1'],
  );
});

test('a check that takes too long proves nothing, because each operation was in time', async t => {
  const { options } = await startRight(t);
  const limit = new AbortController();
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  t.mock.method(AbortSignal, 'timeout', (ms: number) => (ms === 200_000 ? limit.signal : timeout(ms)));
  const restart = (): Promise<void> => Promise.resolve(limit.abort());
  const report = await verify({ ...options, restart, only: ['FL-8.3-3'] });
  const [result] = report.results;
  assert.equal(result?.outcome, 'WARN');
  assert.match(result.because ?? '', /^could not be proved: .* 200000 ms; .* --timeout$/);
});

test('neither a token nor a secret goes to another machine over plain HTTP unless an option allows it', async () => {
  const oauth = { 'oauth-url': 'http://id.example', 'oauth-client': 'a', 'oauth-secret': 's' };
  for (const given of [{ url: 'http://vendor.example' }, { url: 'https://vendor.example', ...oauth }]) {
    const argv = Object.entries(given).flatMap(([name, value]) => [`--${name}`, value]);
    const { values } = readSettings(verifySettings, { argv, env: {} });
    assert.ok(values);
    await assert.rejects(verifyCommand.run(values), /http is not encrypted/);
  }
});

test('a fault has the request, the answer, a curl line, and the way to repeat it, without credentials', async t => {
  const address = await listen(
    t,
    createServer((request, response) => {
      if (request.url !== '/v1/capabilities') return response.writeHead(404).end('<h1>Not Found</h1>');
      const document = {
        version: '1',
        accessModes: ['SINGLE_NODE_WRITER'],
        accessTypes: ['mount'],
        features: [],
      };
      return response.setHeader('content-type', 'application/json').end(JSON.stringify(document));
    }),
  );
  const url = new URL(`http://${address}`);
  const credentials = tokenCredentials('a-secret-token');
  const { options } = await startRight(t);
  const report = await verify({ ...options, target: { url }, credentials, seed: 7 });
  const result = report.results.find(({ id }) => id === 'FL-1.2-1');
  assert.equal(result?.outcome, 'FAIL');
  assert.match(result.failure?.expected ?? '', /a problem document with a known code/);
  assert.equal(result.failure?.exchange?.request.path, '/v1/volumes');
  assert.equal(result.failure.exchange.answer?.text, '<h1>Not Found</h1>');
  assert.match(
    result.failure.curl ?? '',
    /^curl -i .*-H "Authorization: Bearer \$TOKEN".*'http:.*\/v1\/volumes'$/,
  );
  assert.equal(result.repeat, '--only FL-1.2-1 --seed 7');
  assert.doesNotMatch(JSON.stringify(report), /a-secret-token/);
});

/** Starts a gateway, which speaks the vendors' API, a run of the kit on it, and a client of the same cluster. */
async function startRight(
  t: TestContext,
): Promise<{ readonly options: VerifyOptions; readonly client: StorageClient }> {
  const { url, directory, signers, client } = await runGateway(t);
  const keyFile = join(directory, 'key');
  writeFileSync(keyFile, JSON.stringify(signers.a.privateJwk));
  const options = runOptions({
    target: { url: new URL(url) },
    credentials: await keyCredentials({ keyFile, issuer: 'a', audience: 'fairlead' }),
    prefix: 'a.verify-',
    timeoutMs: 20_000,
    only: [],
  });
  return { options, client };
}

/** Serves capabilities and an empty list of volumes, and answers everything else with `answer`. */
async function serveNothing(
  t: TestContext,
  answer: (response: ServerResponse) => void = response => response.writeHead(404).end('<h1>Not Found</h1>'),
): Promise<URL> {
  const modes = { accessModes: ['SINGLE_NODE_WRITER'], accessTypes: ['mount'] };
  const documents: Readonly<Record<string, object>> = {
    '/v1/capabilities': { version: '1', features: [], ...modes },
    '/v1/volumes': { volumes: [] },
  };
  const server = createServer(({ url = '' }, response) => {
    const document = documents[url];
    if (!document) return answer(response);
    response.setHeader('content-type', 'application/json').end(JSON.stringify(document));
  });
  return new URL(`http://${await listen(t, server)}`);
}

function failed({ results }: Report) {
  return results.filter(({ outcome }) => outcome === 'FAIL');
}
