import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { createServerless } from '../../../../gateway/entries/serverless.ts';
import { temporaryDirectory } from '../../../harness/gateway.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';
import { prepare, spec } from './serverless.ts';

const server = sharePostgres();

test(
  'a request that prefers a longer wait than its runtime allows is answered, and its work continues',
  { skip },
  async t => {
    const directory = temporaryDirectory(t);
    const { env, signer, storage } = await prepare(t, await server(), directory);
    const { fetch } = createServerless({ maxWaitMs: 50, directory });
    const release = storage.hold();
    let rest: Promise<void> | undefined;
    const ask = async (method: string, body?: string): Promise<Response> => {
      const authorization = `Bearer ${await signer.sign()}`;
      const headers = { authorization, 'content-type': 'application/json', prefer: 'wait=60' };
      const request = new Request('https://gateway.test/v1/volumes/east.one', {
        method,
        headers,
        body: body ?? null,
      });
      return fetch(request, { ...env, FAIRLEAD_LOG_LEVEL: 'error' }, left => (rest = left));
    };

    assert.equal((await ask('PUT', JSON.stringify(spec('one')))).status, 202);
    release();
    await rest;
    const found = (await (await ask('GET')).json()) as { readonly state: string };
    assert.equal(found.state, 'ready');
    await rest;
  },
);

test('an instance serves no pool with volumes that its store does not know', { skip }, async t => {
  const directory = temporaryDirectory(t);
  const { env, signer, query } = await prepare(t, await server(), directory);
  const ask = async (method: string, body?: object): Promise<number> => {
    const { fetch } = createServerless({ maxWaitMs: 25_000, directory });
    let rest: Promise<void> | undefined;
    const request = new Request('https://gateway.test/v1/volumes/east.one', {
      method,
      headers: { authorization: `Bearer ${await signer.sign()}`, 'content-type': 'application/json' },
      body: body ? JSON.stringify(body) : null,
    });
    const { status } = await fetch(request, { ...env, FAIRLEAD_LOG_LEVEL: 'error' }, left => (rest = left));
    await rest;
    return status;
  };
  assert.equal(await ask('PUT', spec('one')), 201);
  assert.equal(await ask('GET'), 200);
  // The state of a store that was created anew.
  await query('delete from volumes');
  assert.equal(await ask('DELETE'), 503);
});

for (const [what, files] of [
  ['is cut off', '{"token": "canary"'],
  ['does not begin with JSON', 'canary'],
  ['holds something else than a text', '{"token": {"is": "canary"}}'],
  ['holds a number', '{"canary": 20261125}'],
  ['is a list', '["canary"]'],
] as const)
  test(`the log names only the variable if its files ${what}`, async t => {
    const { fetch, sweep } = createServerless({ maxWaitMs: 50, directory: temporaryDirectory(t) });
    const env = { FAIRLEAD_FILES_TOKENS: files };
    const write = t.mock.method(process.stderr, 'write', () => true);
    const { status } = await fetch(new Request('https://gateway.test/v1/volumes'), env, () => undefined);
    write.mock.restore();
    const failure = await sweep(env).catch((error: unknown) => inspect(error, { depth: 9 }));
    assert.equal(status, 503);
    for (const said of [String(write.mock.calls[0]?.arguments[0]), String(failure)]) {
      assert.match(said, /FAIRLEAD_FILES_TOKENS: must be a JSON object/);
      assert.doesNotMatch(said, /canary|20261125/);
    }
  });
