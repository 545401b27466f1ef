// Runs inside the sandbox of Ceph: Cinder and Keystone with PostgreSQL and RabbitMQ, and the kit on examples/cinder.

import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { signInto } from '../../../examples/cinder/keystone.ts';
import { adapter, startCinder } from '../../cinder/cinder.ts';
import { addType } from '../../cinder/types.ts';
import { runKit, type KitRun } from '../../fakes/storages/kit.ts';
import { startVendor } from '../../fakes/storages/reference.ts';
import { directoryOf } from '../../harness/machine.ts';
import { seed } from '../../harness/sample.ts';
import { until } from '../../vm/fleet/scenarios.ts';

test('examples/cinder over Cinder on Ceph', async t => {
  const env = await startCinder(t, directoryOf(t));
  await t.test('the server gets a new token after Keystone revoked its token', async inner => {
    const { url, token } = await startVendor(inner, { command: adapter, env });
    const list = () => fetch(`${url}/v1/volumes`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal((await list()).status, 200);
    await revokeTokens(env);
    const answer = await list();
    assert.equal(answer.status, 200, await answer.text());
  });
  // Tokens end during this test, too.
  await t.test('the kit finds nothing, lost answers and restarts included', async inner => {
    const types = ['first', 'second'];
    for (const name of types) await addType(env, name, { 'test:name': name });
    await requireNoFaults(inner, { env, mutable: { type: types } });
  });
  await t.test('the kit finds nothing in volumes that several nodes have', async inner => {
    await addType(env, 'shared', { multiattach: '<is> True' });
    const shared = { env: { ...env, SHARED: 'true' }, parameters: { type: 'shared' } };
    await requireNoFaults(inner, { ...shared, only: ['FL-3.4', 'FL-4.2', 'FL-4.3'] });
  });
});

async function requireNoFaults(t: TestContext, run: Partial<KitRun>): Promise<void> {
  const report = await runKit(t, { command: adapter, seed, timeoutMs: 120_000, ...run });
  const faults = report.results.filter(({ failure }) => failure);
  assert.deepEqual(
    faults.map(({ id, failure }) => [id, failure]),
    [],
  );
  assert.deepEqual(report.left, []);
}

/** Revokes all tokens of the user, and waits until Cinder refuses one that it accepted later than the server's. */
async function revokeTokens(env: Readonly<Record<string, string>>): Promise<void> {
  const { token, endpoint } = await signInto(env).session();
  const headers = { 'x-auth-token': token, 'content-type': 'application/json' };
  const statusOf = async () => (await fetch(`${endpoint}/volumes`, { headers })).status;
  assert.equal(await statusOf(), 200);
  const { OS_AUTH_URL = '', OS_PASSWORD: password } = env;
  const answer = await fetch(`${OS_AUTH_URL}/auth/tokens`, {
    headers: { ...headers, 'x-subject-token': token },
  });
  const { id } = ((await answer.json()) as { readonly token: { readonly user: { readonly id: string } } })
    .token.user;
  // Keystone revokes a user's tokens when the password is set, even to the same one.
  const body = JSON.stringify({ user: { password } });
  const { ok } = await fetch(`${OS_AUTH_URL}/users/${id}`, { method: 'PATCH', headers, body });
  assert.ok(ok);
  await until(async () => (await statusOf()) === 401);
}
