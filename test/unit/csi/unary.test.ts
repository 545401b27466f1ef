import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { credentials, type ServiceError } from '@grpc/grpc-js';
import { Problem, problemTable, type ProblemCode } from '../../../src/api/problem.ts';
import { loadCsi } from '../../../src/csi/protocol.ts';
import type { UnaryCall } from '../../../src/csi/call.ts';
import type { Log, LogFields } from '../../../src/lib/log.ts';
import { clientOf, serveCsi, temporaryDir } from '../../harness/csi-serving.ts';

type Handler = (request: never, call: UnaryCall) => Promise<unknown>;
type Line = readonly [level: string, message: string, fields: LogFields | undefined];
type Lines = {
  readonly log: Log;
  readonly lines: readonly Line[];
};

const attached = { volume_id: 'a.x', node_id: 'n' };

test('the handler has the request and its answer comes back', async t => {
  const { controller } = await callerOf(t, async request => {
    assert.deepEqual(request, { ...attached, secrets: {} });
    return {};
  });
  assert.deepEqual(await controller.ControllerUnpublishVolume(attached), {});
});

for (const code of Object.keys(problemTable) as ProblemCode[]) {
  test(`a problem ${code} comes out as the gRPC code of that name, with its detail and the request's id`, async t => {
    let requestId = '';
    const error = await failureOf(t, async (_request, call) => {
      ({ requestId } = call);
      throw new Problem(code, 'volume "a.x" is so');
    });
    assert.equal(error.code, problemTable[code].grpc);
    assert.equal(error.details, `volume "a.x" is so (request ${requestId})`);
    assert.match(requestId, /^[0-9a-f]{12}$/);
  });
}

test('a status carries code and message and nothing else', async t => {
  const error = await failureOf(t, async () => {
    throw new Problem('NOT_FOUND', 'no volume "a.x"', new Error('inner'));
  });
  assert.deepEqual(Object.keys(error.metadata.getMap()), ['content-type', 'date']);
});

for (const thrown of [new TypeError('inner secret'), 'inner secret', undefined]) {
  test(`what is thrown and has no name (${typeof thrown}) is UNAVAILABLE and does not show itself`, async t => {
    const error = await failureOf(t, () => Promise.reject(thrown));
    assert.equal(error.code, 14);
    assert.match(
      error.details,
      /^unexpected failure; the operation may still be running \(request [0-9a-f]+\)$/,
    );
  });
}

test("the gateway's request id is not followed by another one", async t => {
  const error = await failureOf(t, async () => {
    throw new Problem('NOT_FOUND', 'no volume (request r-1)');
  });
  assert.equal(error.details, 'no volume (request r-1)');
});

test('a message of any length is kept short, with its end', async t => {
  const error = await failureOf(t, async () => {
    throw new Problem('NOT_FOUND', `start ${'x'.repeat(1_000_000)} end (request r-1)`);
  });
  assert.equal(error.code, 5);
  assert.match(error.details, /^start x+…x+ end \(request r-1\)$/);
  assert.ok(error.details.length <= 1_100, String(error.details.length));
});

test('a message of any characters comes through, and the server goes on', async t => {
  const { controller } = await callerOf(t, async () => {
    throw new Problem('NOT_FOUND', 'a\uD800b %2F é 日本 🚀\nnext');
  });
  for (let round = 0; round < 2; round++) {
    await assert.rejects(controller.ControllerUnpublishVolume(attached), {
      code: 'NOT_FOUND',
      detail: /^a\uFFFDb %2F é 日本 🚀\nnext \(request /,
    });
  }
});

test("the caller's deadline is handed over, and a default where there is none", async t => {
  const deadlines: number[] = [];
  const socketPath = await served(t, async (_request, { deadlineMs }) => {
    deadlines.push(deadlineMs - Date.now());
    return {};
  });
  await clientOf(t, socketPath).controller.ControllerUnpublishVolume(attached, 7_000);
  await new Promise(resolve => rawClient(t, socketPath).ControllerUnpublishVolume(attached, resolve));
  const [given = 0, none = 0] = deadlines;
  assert.ok(given > 5_000 && given <= 7_001, String(given));
  assert.ok(none > 29_000 && none <= 30_000, String(none));
});

test('a caller that cancels aborts the signal', async t => {
  const begun = Promise.withResolvers<AbortSignal>();
  const socketPath = await served(t, (_request, { signal }) => {
    begun.resolve(signal);
    return new Promise(() => {});
  });
  const call = rawClient(t, socketPath).ControllerUnpublishVolume(attached, () => {});
  const signal = await begun.promise;
  assert.equal(signal.aborted, false);
  const aborted = once(signal, 'abort');
  call.cancel();
  await aborted;
});

test('a deadline that passes aborts the signal', async t => {
  const begun = Promise.withResolvers<AbortSignal>();
  const { controller } = await callerOf(t, (_request, { signal }) => {
    begun.resolve(signal);
    return new Promise(() => {});
  });
  const work = controller.ControllerUnpublishVolume(attached, 200);
  const refused = assert.rejects(work, { code: 'DEADLINE_EXCEEDED' });
  const signal = await begun.promise;
  if (!signal.aborted) await once(signal, 'abort');
  await refused;
});

test('an error is logged once, with the code, the detail and the id that the caller was told', async t => {
  const { log, lines } = recorder();
  const error = await failureOf(
    t,
    async () => {
      throw new Problem('NOT_FOUND', 'no volume "a.x"');
    },
    log,
  );
  assert.equal(lines.length, 1);
  const [level, message, { durationMs, requestId, ...fields } = {}] = lines[0] ?? [];
  assert.deepEqual([level, message], ['warn', 'refused']);
  assert.deepEqual(fields, {
    rpc: 'ControllerUnpublishVolume',
    volumeId: 'a.x',
    code: 'NOT_FOUND',
    detail: 'no volume "a.x"',
  });
  assert.ok(error.details.endsWith(`(request ${requestId})`));
  assert.equal(typeof durationMs, 'number');
});

test('a log line has as much of the id of a volume as a good one can have, and none where none is named', async t => {
  for (const [given, told] of [
    ['v'.repeat(5_000), 'v'.repeat(128)],
    ['', undefined],
  ] as const) {
    const { log, lines } = recorder();
    const { controller } = await callerOf(t, () => Promise.reject(new Problem('NOT_FOUND', '')), log);
    await assert.rejects(controller.ControllerUnpublishVolume({ volume_id: given, node_id: 'n' }));
    assert.equal(lines[0]?.[2]?.volumeId, told);
  }
});

test('a failure that nobody named is logged with its stack', async t => {
  const { log, lines } = recorder();
  await failureOf(t, () => Promise.reject(new TypeError('our own bug')), log);
  assert.match(lines[0]?.[2]?.stack ?? '', /^TypeError\n\s+at (?!.*our own bug)/);
});

function recorder(): Lines {
  const lines: Line[] = [];
  const note =
    (level: string) =>
    (message: string, fields?: LogFields): void =>
      void lines.push([level, message, fields]);
  return {
    lines,
    log: { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') },
  };
}

async function served(t: TestContext, handler: Handler, log?: Log): Promise<string> {
  const socketPath = join(await temporaryDir(t), 'csi.sock');
  await serveCsi(t, socketPath, { controller: { ControllerUnpublishVolume: handler }, ...(log && { log }) });
  return socketPath;
}

async function callerOf(t: TestContext, handler: Handler, log?: Log): Promise<ReturnType<typeof clientOf>> {
  return clientOf(t, await served(t, handler, log));
}

async function failureOf(t: TestContext, handler: Handler, log?: Log): Promise<ServiceError> {
  const client = rawClient(t, await served(t, handler, log));
  return new Promise((resolve, reject) => {
    client.ControllerUnpublishVolume(attached, error =>
      error ? resolve(error) : reject(new Error('no failure')),
    );
  });
}

function rawClient(
  t: TestContext,
  socketPath: string,
): InstanceType<ReturnType<typeof loadCsi>['Controller']> {
  const { Controller } = loadCsi();
  const client = new Controller(`unix://${socketPath}`, credentials.createInsecure());
  t.after(() => client.close());
  return client;
}
