import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Rate } from '../../../../gateway/callers/cluster.ts';
import { createRates } from '../../../../gateway/scheduling/rates.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { clusters, volumeSpec } from '../../../harness/gateway.ts';
import { runGateway } from '../../../harness/gateway/program.ts';

/** Opens the rates, on a clock that only the test moves. */
function open() {
  let nowMs = 5_000;
  const rates = createRates(() => nowMs);
  return {
    pass: (ms: number) => void (nowMs += ms),
    /** Counts how many of a thousand requests of the cluster `a` pass now. */
    ask(rate: Rate | undefined): number {
      let through = 0;
      try {
        for (; through < 1_000; through++) rates.spend({ ...clusters.a, rate });
      } catch (error) {
        assert.ok(error instanceof Problem);
        assert.deepEqual([error.code, error.retryAfterS], ['UNAVAILABLE', 1]);
      }
      return through;
    },
    rates,
  };
}

test('a cluster may send a burst of requests, and then a number per second, however long it was idle', () => {
  const { ask, pass } = open();
  const rate = { perSecond: 10, burst: 50 };
  assert.equal(ask(rate), 50);
  assert.equal(ask(rate), 0);
  pass(99);
  assert.equal(ask(rate), 0);
  pass(1);
  assert.equal(ask(rate), 1);
  pass(1_000);
  assert.equal(ask(rate), 10);
  pass(3_600_000);
  assert.equal(ask(rate), 50);
});

test("the default burst is two seconds' requests, and a changed rate counts at once", () => {
  const { ask, pass } = open();
  assert.equal(ask({ perSecond: 10 }), 20);
  pass(1_000);
  assert.equal(ask({ perSecond: 100 }), 100);
  pass(60_000);
  assert.equal(ask({ perSecond: 100, burst: 3 }), 3);
  assert.equal(ask(undefined), 1_000);
});

test("one cluster's requests cost neither other clusters nor operators", () => {
  const { ask, rates } = open();
  const rate = { perSecond: 1, burst: 1 };
  assert.equal(ask(rate), 1);
  rates.spend({ ...clusters.b, rate });
  for (let n = 0; n < 10; n++) rates.spend('operator');
});

test('a request beyond the rate is answered with 429 and a time to come again, and does nothing', async t => {
  const { url, signers } = await runGateway(t, {
    clusters: { a: { rate: { perSecond: 1, burst: 3 } }, b: {} },
  });
  const ask = async (who: 'a' | 'b' | 'operators', path: string, spec?: object) =>
    fetch(new URL(path, url), {
      headers: { authorization: `Bearer ${await signers[who].sign()}` },
      ...(spec && { method: 'PUT', body: JSON.stringify(spec) }),
    });
  let made = 0;
  const make = (): Promise<Response> => ask('a', `/v1/volumes/a.v${made}`, volumeSpec(`v${made}`));
  let answer = await make();
  for (; answer.status === 201; answer = await make()) made++;
  assert.ok(made >= 3);
  assert.deepEqual([answer.status, answer.headers.get('retry-after')], [429, '1']);
  assert.partialDeepStrictEqual(await answer.json(), { code: 'UNAVAILABLE', status: 429 });
  const all = await ask('operators', '/v1/admin/volumes');
  const { volumes } = (await all.json()) as { readonly volumes: readonly unknown[] };
  assert.equal(volumes.length, made);
  assert.equal((await ask('b', '/v1/volumes')).status, 200);
});
