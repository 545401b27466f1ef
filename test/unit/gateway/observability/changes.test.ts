import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createChanges } from '../../../../gateway/observability/changes.ts';
import { changesPath } from '../../../../src/api/admin/changes.ts';
import { createPools } from '../../../../gateway/pools/pools.ts';
import { createAnswers } from '../../../../gateway/pools/state/answers.ts';
import { pause, poll } from '../../../../src/lib/concurrency.ts';
import { assertProblem, clusters, openGateway, volumeSpec, type Gateway } from '../../../harness/gateway.ts';
import { signerOf } from '../../../harness/gateway/signers.ts';
import { prepareConsole, signCode } from '../../../harness/gateway/console.ts';

const quick = { lookEveryMs: 10, heartbeatEveryMs: 10 };
const decoder = new TextDecoder();

type Waits = { waiting: number };
type Answers = { answers: boolean };

async function open(t: TestContext, options: Partial<typeof quick> = quick) {
  const gateway = await openGateway(t);
  const waits: Waits = { waiting: 0 };
  const all = { limit: 1, oldestWaitMs: 0, running: 0, pool: 'main', cluster: 'a', waitingOperations: [] };
  const queues = { show: () => [{ ...all, ...waits }] };
  const reads: string[] = [];
  const reader: Gateway['engine']['reader'] = {
    all: (sql, ...values) => {
      reads.push(sql);
      return gateway.engine.reader.all(sql, ...values);
    },
  };
  const answers: Answers = { answers: true };
  const pool = {
    name: 'main',
    backend: gateway.backend,
    answers: { ...createAnswers(), show: () => ({ ...createAnswers().show(), ...answers }) },
  };
  const pools = createPools(() => [pool]);
  const changes = createChanges({ reader, queues, pools }, options);
  t.after(() => changes.close());
  return { gateway, changes, waits, answers, reads };
}

const always = async (): Promise<boolean> => true;

/** Reads until a message that matches; undefined once the stream has ended. */
async function readUntil(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  pattern: RegExp,
): Promise<string | undefined> {
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return undefined;
    const text = decoder.decode(value);
    if (pattern.test(text)) return text;
  }
}

test('a listener hears of each change of the store, a queue or a pool, and else only that the connection lives', async t => {
  const { gateway, changes, waits, answers } = await open(t);
  const events = changes.open(always).getReader();
  assert.equal(await readUntil(events, /data/), 'retry: 3000\ndata: changed\n\n');
  for (let beats = 0; beats < 5; beats++) assert.equal(await readUntil(events, /./), ':\n\n');
  await gateway.volumes.create(clusters.a, 'a.one', volumeSpec('one'));
  assert.equal(await readUntil(events, /data/), 'data: changed\n\n');
  waits.waiting = 3;
  assert.equal(await readUntil(events, /data/), 'data: changed\n\n');
  answers.answers = false;
  assert.equal(await readUntil(events, /data/), 'data: changed\n\n');
  const replica = await gateway.replica();
  await replica.volumes.delete(clusters.a, 'a.one');
  assert.equal(await readUntil(events, /data/), 'data: changed\n\n');
});

test('all listeners share the reads of one', async t => {
  const { changes, reads } = await open(t, { ...quick, lookEveryMs: 3_600_000 });
  const all = Array.from({ length: 10 }, () => changes.open(always).getReader());
  const isRead = () => reads.length >= 2 || undefined;
  assert.ok(await poll(isRead, { everyMs: 10, timeoutMs: 10_000 }));
  for (const events of all) await readUntil(events, /^:/);
  assert.equal(reads.length, 2);
});

test('without a listener nothing is read', async t => {
  const { changes, reads } = await open(t);
  const events = changes.open(always).getReader();
  await readUntil(events, /^:/);
  assert.ok(reads.length > 0);
  await events.cancel();
  const isQuiet = async (): Promise<true | undefined> => {
    const before = reads.length;
    await pause(100);
    return reads.length === before ? true : undefined;
  };
  assert.ok(await poll(isQuiet, { everyMs: 0, timeoutMs: 10_000 }));
});

test('a stream ends with its session, and no other does', async t => {
  const { changes } = await open(t);
  const session = { isOpen: true };
  const [one, other] = [changes.open(async () => session.isOpen), changes.open(always)].map(stream =>
    stream.getReader(),
  );
  assert.ok(one && other);
  await readUntil(one, /^:/);
  session.isOpen = false;
  assert.equal(await readUntil(one, /never/), undefined);
  assert.equal(await readUntil(other, /^:/), ':\n\n');
});

test('a listener that reads nothing is dropped, and the number of listeners is bounded', async t => {
  const { changes, gateway } = await open(t);
  const streams = Array.from({ length: 64 }, () => changes.open(always));
  assert.throws(() => changes.open(always), {
    code: 'UNAVAILABLE',
    detail: /too many browsers and commands/,
  });
  const [first] = streams.splice(0, 1);
  await gateway.volumes.create(clusters.a, 'a.one', volumeSpec('one'));
  // Those that read nothing make room.
  for (;;) {
    try {
      await changes.open(always).cancel();
      break;
    } catch {
      await new Promise(setImmediate);
    }
  }
  const rest: string[] = [];
  for await (const message of first as ReadableStream<Uint8Array>) rest.push(decoder.decode(message));
  assert.ok(rest.length < 20, `${rest.length} messages were kept`);
});

test('the end of the gateway ends all streams and opens no other', async t => {
  const { changes } = await open(t);
  const events = changes.open(always).getReader();
  changes.close();
  assert.equal(await readUntil(events, /never/), undefined);
  assert.throws(() => changes.open(always), { code: 'UNAVAILABLE' });
});

const route = `GET ${changesPath}`;

test('a session listens from its own pages until its end, and proxies hold nothing back', async t => {
  const gateway = await openGateway(t, { openConsole: prepareConsole(t), tellsChanges: true });
  const own = { 'sec-fetch-site': 'same-origin', host: 'storage.example', 'content-length': '1000' };
  const login = { as: 'nobody', headers: own, body: { code: await signCode('reader of operators') } };
  const { headers } = await gateway.ask('POST /console/session', login);
  const cookie = headers.get('set-cookie')?.split(';')[0] ?? '';
  const answer = await gateway.send(route, { as: 'nobody', headers: { ...own, cookie } });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'text/event-stream');
  assert.equal(answer.headers.get('cache-control'), 'no-cache, no-transform');
  assert.equal(answer.headers.get('x-accel-buffering'), 'no');
  const events = (answer.body as ReadableStream<Uint8Array>).getReader();
  await readUntil(events, /data/);
  await gateway.ask('DELETE /console/session', { as: 'nobody', headers: { ...own, cookie } });
  assert.equal(await readUntil(events, /never/), undefined, 'the operator has logged out');
  const foreign = { ...own, 'sec-fetch-site': 'cross-site', cookie };
  for (const refused of [own, foreign, { ...own, cookie }])
    assertProblem(await gateway.ask(route, { as: 'nobody', headers: refused }), 401, 'UNAUTHENTICATED');
});

test('operators and their readers listen with a token until it expires, and no cluster does', async t => {
  const gateway = await openGateway(t, { tellsChanges: true });
  for (const as of ['operator', 'reader of operators']) {
    const answer = await gateway.send(route, { as });
    assert.equal(answer.status, 200);
    await answer.body?.cancel();
  }
  assertProblem(await gateway.ask(route, { as: 'a' }), 404, 'NOT_FOUND');
  assertProblem(await gateway.ask(route, { as: 'nobody' }), 401, 'UNAUTHENTICATED');
  // A token is accepted for a minute after its end, because clocks differ.
  const nowS = Math.floor(Date.now() / 1_000);
  const token = await (await signerOf('operator')).sign({ iat: nowS - 100, exp: nowS - 58 });
  const answer = await gateway.send(route, { as: 'nobody', headers: { authorization: `Bearer ${token}` } });
  assert.equal(answer.status, 200);
  const events = (answer.body as ReadableStream<Uint8Array>).getReader();
  assert.equal(await readUntil(events, /never/), undefined, 'the token has expired');
  assert.deepEqual(gateway.visits.refusedTokens(), [], 'no caller has sent a token that was refused');
});

test('a gateway that tells no changes has no such route', async t => {
  const gateway = await openGateway(t);
  assertProblem(await gateway.ask(route, { as: 'operator' }), 404, 'NOT_FOUND');
});
