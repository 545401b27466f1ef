import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { createAuthenticate } from '../../../../gateway/callers/authenticate.ts';
import { createVisits } from '../../../../gateway/callers/visits.ts';
import { enrol } from '../../../harness/gateway.ts';
import { createSigner } from '../../../harness/gateway/signers.ts';

/** Makes a watched check of tokens of cluster `a`, at the time that the test says. */
async function open() {
  const clock = { nowMs: 1_000 };
  const signer = await createSigner('a');
  const enrolment = await enrol({ a: signer });
  const visits = createVisits(
    () => ({ a: {}, b: {} }),
    () => clock.nowMs,
  );
  const authenticate = visits.watch(createAuthenticate(() => enrolment, 'fairlead'));
  return { clock, signer, visits, ask: async (token: string) => authenticate(`Bearer ${token}`) };
}

test('the last request of each cluster is noted, also while its token is remembered', async () => {
  const { clock, signer, visits, ask } = await open();
  assert.equal(visits.lastSeenMs('a'), undefined);
  const token = await signer.sign();
  await ask(token);
  clock.nowMs = 5_000;
  await ask(token);
  assert.equal(visits.lastSeenMs('a'), 5_000);
  clock.nowMs = 9_000;
  assert.deepEqual(
    [...visits.silentMs()],
    [
      ['a', 4_000],
      ['b', 8_000],
    ],
  );
});

test('requests of the readers of a cluster do not count as requests of its controller', async () => {
  const visits = createVisits(
    () => ({ a: {} }),
    () => 1_000,
  );
  const cluster = { name: 'a', acceptAnyNode: false };
  for (const [role, seenMs] of [
    ['reader', undefined],
    ['controller', 1_000],
  ] as const) {
    visits.watch(async () => ({ role, cluster }))('Bearer token');
    await setImmediate();
    assert.equal(visits.lastSeenMs('a'), seenMs);
  }
});

test('refused tokens are counted for 5 minutes under the configured cluster that they name', async () => {
  const { clock, signer, visits, ask } = await open();
  const expired = await signer.sign({ iat: 1, exp: 2 });
  for (let i = 0; i < 3; i++, clock.nowMs++) await assert.rejects(ask(expired));
  const [found] = visits.refusedTokens();
  assert.partialDeepStrictEqual(found, { cluster: 'a', count: 3, lastMs: 1_002 });
  assert.match(found?.detail ?? '', /expired|"iat"|"exp"/);
  clock.nowMs += 300_000;
  assert.deepEqual(visits.refusedTokens(), []);
  await assert.rejects(ask(expired));
  assert.partialDeepStrictEqual(visits.refusedTokens(), [{ count: 1, lastMs: clock.nowMs }]);
});

test('names that no configured cluster has are not kept', async () => {
  const { signer, visits, ask } = await open();
  for (let i = 0; i < 20; i++) await assert.rejects(ask(await signer.sign({ iss: `made-up-${i}` })));
  await assert.rejects(ask('garbage'));
  assert.deepEqual(
    visits.refusedTokens().map(({ cluster, count }) => [cluster, count]),
    [[undefined, 21]],
  );
});
