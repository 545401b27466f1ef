import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import { Client, credentials, type ServiceError } from '@grpc/grpc-js';
import { Problem, problemTable, type ProblemCode } from '../../../src/api/problem.ts';
import type { StreamHandler, UnaryCall } from '../../../src/csi/call.ts';
import { loadCsi } from '../../../src/csi/protocol.ts';
import { pause, poll } from '../../../src/lib/concurrency.ts';
import { silentLog, type LogFields } from '../../../src/lib/log.ts';
import { serveCsi } from '../../harness/csi-serving.ts';

type Handler = (request: { readonly volume_id: string }, call: UnaryCall) => Promise<unknown>;
type Line = readonly [message: string, fields: LogFields | undefined];
type Message = { readonly volume_capacity_bytes: number; readonly block_metadata: readonly object[] };

const attached = { volume_id: 'a.x', node_id: 'n' };
const message = (volume_capacity_bytes = 1): Message => ({ volume_capacity_bytes, block_metadata: [] });
const hang = () => new Promise(() => {});

test('the handler gets the request and its answer comes back', async t => {
  const { unpublish } = await serveHandler(t, async request => {
    assert.deepEqual(request, { ...attached, secrets: {} });
    return {};
  });
  assert.deepEqual(await unpublish(), {});
});

test("every problem becomes the gRPC code of its name, with its detail, and the request's id as a trailer", async t => {
  let requestId = '';
  const { unpublish } = await serveHandler(t, async ({ volume_id: code }, call) => {
    ({ requestId } = call);
    throw new Problem(code as ProblemCode, 'volume "a.x" is so', new Error('inner'));
  });
  for (const code of Object.keys(problemTable)) {
    const { code: found, detail, cause } = await failureOf(unpublish({ volume_id: code }));
    assert.equal(found, code);
    assert.equal(detail, 'volume "a.x" is so');
    assert.match(requestId, /^[0-9a-f]{12}$/);
    const { 'content-type': _type, date: _date, ...trailers } = (cause as ServiceError).metadata.getMap();
    assert.deepEqual(trailers, { 'x-request-id': requestId });
  }
});

test('an error without a name is UNAVAILABLE without details, and is logged with its stack', async t => {
  for (const thrown of [new TypeError('inner secret'), 'inner secret', undefined]) {
    const { unpublish, lines } = await serveHandler(t, () => Promise.reject(thrown));
    const { code, detail } = await failureOf(unpublish());
    assert.equal(code, 'UNAVAILABLE');
    assert.match(detail, /^unexpected failure; the operation may still be running$/);
    if (thrown instanceof Error) assert.match(lines[0]?.[1]?.stack ?? '', /^TypeError\n\s+at (?!.*secret)/);
  }
});

const details: readonly (readonly [name: string, detail: string, shown: RegExp])[] = [
  ['of any length is kept short', `a${'x'.repeat(10_000)}z`, /^ax{1022}…$/],
  ['of any characters comes through', 'a\uD800b %2F é 🚀\nnext', /^a\uFFFDb %2F é 🚀\nnext$/],
];
for (const [name, detail, shown] of details)
  test(`a message ${name}, and the server continues`, async t => {
    const { unpublish } = await serveHandler(t, () => Promise.reject(new Problem('NOT_FOUND', detail)));
    for (let round = 0; round < 2; round++)
      await assert.rejects(unpublish(), { code: 'NOT_FOUND', detail: shown });
  });

test("the caller's deadline is passed on, or a default if there is none", async t => {
  const deadlines: number[] = [];
  const { unpublish, callForever } = await serveHandler(t, async (_request, { deadlineMs }) => {
    deadlines.push(deadlineMs - Date.now());
    return {};
  });
  await unpublish(attached, 7_000);
  await new Promise<void>(resolve => callForever(resolve));
  const [given = 0, none = 0] = deadlines;
  assert.ok(given > 5_000 && given <= 7_001, String(given));
  assert.ok(none > 29_000 && none <= 30_000, String(none));
});

test('a caller that cancels, and a deadline that passes, abort the signal', async t => {
  const begun: PromiseWithResolvers<AbortSignal>[] = [Promise.withResolvers(), Promise.withResolvers()];
  let calls = 0;
  const { unpublish, callForever } = await serveHandler(t, (_request, { signal }) => {
    begun[calls++]?.resolve(signal);
    return hang();
  });
  const call = callForever();
  const cancelled = await begun[0]?.promise;
  assert.equal(cancelled?.aborted, false);
  call.cancel();
  if (cancelled && !cancelled.aborted) await once(cancelled, 'abort');
  await assert.rejects(unpublish(attached, 200), { code: 'DEADLINE_EXCEEDED' });
  const late = await begun[1]?.promise;
  if (late && !late.aborted) await once(late, 'abort');
});

test('an error is logged once, with the code, the detail and the id that the caller gets', async t => {
  const { unpublish, lines } = await serveHandler(t, async () => {
    throw new Problem('NOT_FOUND', 'no volume "a.x"');
  });
  const { cause } = await failureOf(unpublish());
  assert.equal(lines.length, 1);
  const [text, { durationMs, requestId, ...fields } = {}] = lines[0] ?? [];
  assert.equal(text, 'refused');
  const { volume_id: volumeId } = attached;
  const rpc = 'ControllerUnpublishVolume';
  assert.deepEqual(fields, { rpc, volumeId, code: 'NOT_FOUND', detail: 'no volume "a.x"' });
  assert.deepEqual((cause as ServiceError).metadata.get('x-request-id'), [requestId]);
  assert.equal(typeof durationMs, 'number');
});

test("a log line has at most as much of a volume's id as a valid id can have, and none if the request has none", async t => {
  const { unpublish, lines } = await serveHandler(t, () => Promise.reject(new Problem('NOT_FOUND', '')));
  await failureOf(unpublish({ volume_id: 'v'.repeat(5_000) }));
  await failureOf(unpublish({ volume_id: '' }));
  const ids = lines.map(([, fields]) => fields?.volumeId);
  assert.deepEqual(ids, ['v'.repeat(128), undefined]);
});

test('a stream has all messages in order, and ends', async t => {
  const ask = await serveStream(t, async function* () {
    for (let i = 0; i < 100; i++) yield message(i);
  });
  const messages = await Array.fromAsync(ask());
  const order = messages.map(({ volume_capacity_bytes: bytes }) => Number(bytes));
  assert.deepEqual(
    order,
    Array.from({ length: 100 }, (_, i) => i),
  );
});

test('an error before, in or after the messages is the status of the stream, never a regular end', async t => {
  for (const count of [0, 1, 3]) {
    const ask = await serveStream(t, async function* () {
      for (let i = 0; i < count; i++) yield message();
      throw new Problem('NOT_FOUND', 'there is no snapshot "a.x"');
    });
    let seen = 0;
    const read = async (): Promise<void> => {
      for await (const _ of ask()) seen++;
    };
    const detail = 'there is no snapshot "a.x"';
    await assert.rejects(read(), { code: 'NOT_FOUND', detail });
    assert.equal(seen, count);
  }
});

test('an unnamed failure of a stream is UNAVAILABLE', async t => {
  const ask = await serveStream(t, () => {
    throw new TypeError('secret');
  });
  await assert.rejects(Array.fromAsync(ask()), { code: 'UNAVAILABLE', detail: /^unexpected failure/ });
});

test('a stream waits for a slow reader', async t => {
  let made = 0;
  const block_metadata = Array.from({ length: 10_000 }, () => ({ byte_offset: 1, size_bytes: 1 }));
  const ask = await serveStream(t, async function* () {
    for (; made < 1_000; made++) {
      yield { ...message(), block_metadata };
      await pause(0);
    }
  });
  for await (const _ of ask()) {
    let before = -1;
    const isStill = () => before === (before = made) || undefined;
    await poll(isStill, { everyMs: 100, timeoutMs: 60_000 });
    break;
  }
  assert.ok(made < 500, `${made} messages were made for a reader that took one`);
});

async function serveHandler(t: TestContext, handler: Handler) {
  const lines: Line[] = [];
  const log = { ...silentLog, warn: (...line: [string, LogFields?]) => void lines.push([line[0], line[1]]) };
  const controller = { ControllerUnpublishVolume: handler };
  const { socketPath, csi } = await serveCsi(t, { controller, log });
  return {
    lines,
    unpublish: (request: object = attached, timeoutMs?: number) =>
      csi.controller.ControllerUnpublishVolume(request, timeoutMs),
    /** Makes a call without a deadline; calls `answered` at its end. */
    callForever(answered: () => void = () => {}) {
      const client = new Client(`unix://${socketPath}`, credentials.createInsecure());
      t.after(() => client.close());
      const { path, requestSerialize, responseDeserialize } = loadCsi().Controller.ControllerUnpublishVolume;
      return client.makeUnaryRequest(path, requestSerialize, responseDeserialize, attached, answered);
    },
  };
}

async function serveStream(t: TestContext, handler: StreamHandler<never, Message>) {
  const { csi } = await serveCsi(t, { metadata: { GetMetadataAllocated: handler } });
  return () => csi.snapshotMetadata.GetMetadataAllocated({});
}

async function failureOf(work: Promise<unknown>): Promise<Problem> {
  const failure = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  assert.ok(failure instanceof Problem, String(failure));
  return failure;
}
