import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { poll } from '../../../../src/lib/concurrency.ts';
import { temporaryDirectory } from '../../../harness/gateway.ts';
import { type Signer } from '../../../harness/gateway/signers.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';
import { sample } from '../../../harness/sample.ts';
import { liveThrough, prepare, spec, type Ask } from './serverless.ts';
import { listen } from '../../../harness/listen.ts';
import { endProcess } from '../../../harness/exit.ts';

const server = sharePostgres();

test("on AWS Lambda's runtime volumes work, and a scheduled event sweeps", { skip }, async t => {
  const { env, signer, query } = await prepareInstance(t);
  const { invoke } = await startRuntime(t, env);
  const sweep = async (): Promise<void> => assert.deepEqual(await invoke(scheduled), {});
  await liveThrough({ ask: askBy(invoke, signer), query, sweep });
});

const finishers = [
  ['the same call to another', ({ ask }) => ask('PUT', '/v1/volumes/east.one', spec('one'))],
  ['a scheduled event', ({ invoke }) => invoke(scheduled)],
] satisfies [string, (instance: { ask: Ask; invoke: Invoke }) => Promise<unknown>][];

for (const [finisher, finish] of sample('finishers', finishers, 1))
  test(
    `${finisher} finishes the work of an instance that ended, and the storage has one volume`,
    { skip },
    async t => {
      const { env, signer, storage, query } = await prepareInstance(t);
      const release = storage.hold();
      const first = await startRuntime(t, { ...env, FAIRLEAD_CLAIM_LEASE: '5s' });
      void askBy(first.invoke, signer)('PUT', '/v1/volumes/east.one', spec('one'));
      const made = await storage.volumes();
      assert.equal(made.length, 1);
      await first.end();
      release();

      const { invoke } = await startRuntime(t, env);
      const ask = askBy(invoke, signer);
      assert.deepEqual(await query('select state from volumes'), [{ state: 'creating' }]);
      const isReady = async (): Promise<true | undefined> => {
        await finish({ ask, invoke });
        return (await query("select from volumes where state = 'ready'")).length === 1 || undefined;
      };
      assert.ok(await poll(isReady, { everyMs: 100, timeoutMs: 120_000 }));
      assert.equal((await ask('GET', '/v1/volumes/east.one')).status, 200);
      assert.deepEqual(await storage.volumes(), made);
    },
  );

/** Prepares as `prepare` does, for instances whose directory of temporary files is the test's own. */
async function prepareInstance(t: TestContext) {
  const TMPDIR = temporaryDirectory(t);
  const setup = await prepare(t, await server(), join(TMPDIR, 'fairlead'));
  return { ...setup, env: { ...setup.env, TMPDIR } };
}

const scheduled = { source: 'aws.events', 'detail-type': 'Scheduled Event' };

/** Passes an event to an instance and returns its answer. */
type Invoke = (event: object) => Promise<unknown>;

/** Sends requests as a function URL does. */
function askBy(invoke: Invoke, signer: Signer): Ask {
  return async (method, path, body) => {
    const answer = await invoke({
      version: '2.0',
      routeKey: '$default',
      rawPath: path,
      rawQueryString: '',
      headers: {
        authorization: `Bearer ${await signer.sign()}`,
        'content-type': 'application/json',
        host: 'gateway.test',
      },
      requestContext: { domainName: 'gateway.test', http: { method, path, sourceIp: '127.0.0.1' } },
      ...(body && { body: JSON.stringify(body) }),
      isBase64Encoded: false,
    });
    const found = answer as { readonly statusCode: number; readonly body: string };
    return {
      status: found.statusCode,
      body: found.body ? (JSON.parse(found.body) as Record<string, unknown>) : {},
    };
  };
}

/** Serves the runtime API to one instance, which gets one event at a time; `end` kills it. */
async function startRuntime(t: TestContext, env: Readonly<Record<string, string>>) {
  const events: { readonly event: object; readonly answer: (value: unknown) => void }[] = [];
  const running = new Map<string, (value: unknown) => void>();
  let waiting: ServerResponse | undefined;
  let count = 0;
  const give = (): void => {
    const next = waiting && events.shift();
    if (!next) return;
    const id = String(count++);
    running.set(id, next.answer);
    waiting?.writeHead(200, { 'lambda-runtime-aws-request-id': id }).end(JSON.stringify(next.event));
    waiting = undefined;
  };
  const api = createServer(async (request, response) => {
    const [, id = '', what] = /\/invocation\/(\d+)\/(response|error)$/.exec(request.url ?? '') ?? [];
    if (what === undefined) waiting = response;
    else {
      running.get(id)?.(JSON.parse(await text(request)));
      response.writeHead(202).end();
    }
    give();
  });
  const address = await listen(t, api);
  const runtime = fileURLToPath(new URL('lambda-runtime.ts', import.meta.url));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', runtime], {
    env: { ...env, FAIRLEAD_LOG_LEVEL: 'error', AWS_LAMBDA_RUNTIME_API: address },
    stdio: 'inherit',
  });
  const end = (): Promise<void> => endProcess(child);
  t.after(end);
  const invoke: Invoke = event =>
    new Promise(answer => {
      events.push({ event, answer });
      give();
    });
  return { invoke, end };
}
