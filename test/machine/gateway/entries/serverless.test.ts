import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServerless } from '../../../../gateway/entries/serverless.ts';
import { temporaryDirectory } from '../../../harness/gateway-harness.ts';
import { noPostgres as skip, sharePostgres } from '../../../harness/postgres.ts';
import { prepare, spec } from './serverless.ts';

const server = sharePostgres();

test(
  'a request that prefers to wait longer than its runtime does is answered, and its work goes on',
  { skip },
  async t => {
    const { env, signer, storage } = await prepare(t, await server());
    const { fetch } = createServerless({ mostWaitMs: 50, directory: temporaryDirectory(t) });
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

test('an instance serves no pool that holds what its store knows nothing of', { skip }, async t => {
  const { env, signer, query } = await prepare(t, await server());
  const ask = async (method: string, body?: object): Promise<number> => {
    const { fetch } = createServerless({ mostWaitMs: 25_000, directory: temporaryDirectory(t) });
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
  // As a store is that was made anew.
  await query('delete from volumes');
  assert.equal(await ask('DELETE'), 503);
});
