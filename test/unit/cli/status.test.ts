import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unavailableProblem } from '../../../src/api/problem.ts';
import { judge } from '../../../src/cli/commands/status/judge.ts';
import { operatorCli } from '../../harness/cli/run-cli.ts';
import { runGateway } from '../../harness/gateway/program.ts';
import { createSigner } from '../../harness/gateway/signers.ts';

test('fairlead status shows drained pools and retired clusters, and neither needs attention', async t => {
  // Cluster a has used up its quota and cluster old has no key file, which no longer matters once they are retired.
  const old = { keys: 'old.jwks.json' };
  const gateway = await runGateway(t, { clusters: { a: { quota: { volumes: 1 } }, b: {}, old } });
  const fairlead = operatorCli(gateway);
  await gateway.create('a.one');
  const first = (await fairlead('status')).stdout;
  assert.match(first, /! cluster a: its quota is used up/);
  assert.match(first, /! cluster old: its tokens are refused: .*old\.jwks\.json/);
  assert.match((await fairlead('get clusters')).stdout, /^old .*old\.jwks\.json/m);
  await fairlead('admin drain one');
  for (const name of ['a', 'old']) await fairlead(`admin retire-cluster ${name}`);
  await fairlead('admin check');
  const { status, stdout } = await fairlead('status');
  assert.match(stdout, /^pool one +open, drained for \d+s, 0% of 1Ti reserved, 1 volume, checked \d+s ago$/m);
  assert.match(stdout, /^cluster a +retired \d+s ago, 1 volume, 0 nodes, last seen \d+s ago$/m);
  assert.deepEqual([status, stdout.startsWith('everything works\n')], [0, true], stdout);
  assert.doesNotMatch((await fairlead('get clusters')).stdout, /jwks/);
  const shown = await fetch(`${gateway.url}/v1/admin/status`, {
    headers: { authorization: `Bearer ${await gateway.signers.operators.sign()}` },
  });
  assert.deepEqual(((await shown.json()) as { keyFaults: unknown }).keyFaults, []);

  await t.test('a controller that still runs in a retired cluster is to be uninstalled', async () => {
    const refused = gateway.create('a.two');
    await assert.rejects(refused, { code: 'UNAVAILABLE' });
    const later = await fairlead('status');
    assert.equal(later.status, 1);
    assert.match(
      later.stdout,
      /! cluster a: \d tokens? .* was retired.*\n {4}uninstall Fairlead in that cluster, or end its retirement: fairlead admin retire-cluster a --end\n/,
    );
  });
});

test('fairlead status names the pools whose volumes keep a dead node from being dealt with', async t => {
  const gateway = await runGateway(t, {
    clusters: {
      a: { deadNodes: { after: '60s' } },
      b: {},
      c: { deadNodes: { after: '60s' }, pools: ['one'] },
    },
    own: { cannotCutOff: true },
    pools: { one: { backend: 'memory' }, two: { backend: 'own' } },
  });
  const { stdout } = await operatorCli(gateway)('status');
  assert.match(stdout, /^cluster a .*; a dead node with volumes of pool "two" is left alone, because /m);
  for (const name of ['b', 'c']) assert.doesNotMatch(stdout, new RegExp(`^cluster ${name} .*dead node`, 'm'));
});

test('a pool that no check has compared is not checked yet, which is not counted as ok', async t => {
  let answers = true;
  async function* list() {
    if (!answers) throw unavailableProblem('the storage does not answer');
    yield* [];
  }
  const gateway = await runGateway(t, {
    own: { list },
    pools: { one: { backend: 'memory' }, two: { backend: 'own' } },
    flags: { 'check-every': '0s' },
  });
  answers = false;
  const fairlead = operatorCli(gateway);
  const isOk = async (): Promise<boolean> =>
    (JSON.parse((await fairlead('status -o json')).stdout) as { ok: boolean }).ok;
  const first = await fairlead('status');
  assert.match(
    first.stdout,
    /^nothing needs attention; not checked against the store yet: pool one, pool two\n[^]*^pool one .*, 0 volumes, not checked yet$[^]*^storage +not checked yet$/m,
  );
  assert.deepEqual([first.status, await isOk()], [0, false]);
  await fairlead('admin check');
  const later = (await fairlead('status')).stdout;
  assert.match(later, /^nothing needs attention; not checked against the store yet: pool two\n/);
  assert.match(later, /^pool one .*, checked \d+s ago$/m);
  assert.match((await fairlead('describe pool two')).stdout, /^checked: +not checked yet$/m);
  answers = true;
  await fairlead('admin check');
  assert.match((await fairlead('status')).stdout, /^everything works\n/);
  assert.equal(await isOk(), true);
});

const at = new Date().toISOString();
const nowMs = Date.parse(at);
/** The status of a gateway without faults that names no host, as a serverless one. */
const sound = {
  version: '1.0.0',
  startedAt: at,
  clockSkewMs: 0,
  configurationFaults: [],
  keyFaults: [],
  refusedTokens: [],
  store: { answers: true, answerMs: 1 },
  missingNodes: [],
  check: { at, total: 0, findings: [] },
};
const pool = { id: 'one', state: 'open' as const, features: [], reservedBytes: 0, volumes: 0, snapshots: 0 };

test('status says which replica answers, and marks a pool that another one has answered for', () => {
  const host = 'gateway-0';
  const pools = [
    { ...pool, id: 'one', seenBy: host, checkedAt: at },
    { ...pool, id: 'two', seenBy: 'gateway-1', checkedAt: at },
  ];
  const lines = judge({ gateway: 'http://x', nowMs, status: { ...sound, host }, pools });
  assert.deepEqual(
    lines.flatMap(({ about, state }) => (/^(gateway|pool)/.test(about) ? [`${about}: ${state}`] : [])),
    [
      'gateway: version 1.0.0, up for 0s, on gateway-0; what follows is as this replica sees it',
      'pool one: open, 0 reserved, 0 volumes, checked 0s ago',
      'pool two: open, 0 reserved, 0 volumes, checked 0s ago, as gateway-1 sees it',
    ],
  );
});

test('a pool that no check has compared is not checked, also by a gateway that names no host', () => {
  const lines = judge({ gateway: 'http://x', nowMs, status: sound, pools: [pool] });
  const line = { about: 'pool one', state: 'open, 0 reserved, 0 volumes, not checked yet' };
  assert.deepEqual(lines[3], { ...line, entry: { kind: 'pools', id: 'one' }, isUnchecked: true });
});

function before(minutes: number): string {
  return new Date(nowMs - minutes * 60_000).toISOString();
}

test("steady bad tokens do not hide that a cluster's own tokens are refused", () => {
  const refusedTokens = { count: 9, lastAt: at, detail: 'no such key' };
  const status = { ...sound, refusedTokens: [{ cluster: 'a', ...refusedTokens }] };
  const todoOf = (cluster: { lastSeenAt?: string; retiredSince?: string }): string | undefined => {
    const counts = { volumes: 0, snapshots: 0, nodes: 0, attachments: 0 };
    const own = { id: 'a', isEnrolled: true, quotas: [], use: [], refusedTokens, ...counts, ...cluster };
    const lines = judge({ gateway: 'http://x', nowMs, status, clusters: [own] });
    return lines.find(({ state }) => state.includes('refused'))?.todo;
  };
  assert.equal(todoOf({ lastSeenAt: before(1) }), undefined);
  assert.match(todoOf({ lastSeenAt: before(6) }) ?? '', /^give its controller a key/);
  assert.match(todoOf({}) ?? '', /^give its controller a key/);
  assert.match(todoOf({ lastSeenAt: before(1), retiredSince: at }) ?? '', /^uninstall Fairlead/);
});

test('bad tokens of strangers do not make the health check of the operators fail', async t => {
  const gateway = await runGateway(t);
  const fairlead = operatorCli(gateway);
  const call = { deadlineMs: Date.now() + 60_000 };
  await fairlead('admin check');
  const send = async (token: string): Promise<number> =>
    (await fetch(`${gateway.url}/v1/nodes`, { headers: { authorization: `Bearer ${token}` } })).status;
  assert.equal(await send(await (await createSigner('stranger')).sign()), 401);
  const ofUnknown = await fairlead('status');
  assert.match(ofUnknown.stdout, /^tokens +1 token of unknown callers was refused in the last 5 minutes, /m);
  assert.deepEqual([ofUnknown.status, ofUnknown.stdout.startsWith('everything works\n')], [0, true]);

  await t.test('tokens with the name of a cluster do, until its controller sends a good one', async () => {
    const forged = await (await createSigner('a')).sign();
    assert.equal(await send(forged), 401);
    const ofSilent = await fairlead('status');
    assert.equal(ofSilent.status, 1, ofSilent.stdout);
    assert.match(
      ofSilent.stdout,
      /^1 problem needs attention\n! cluster a: 1 token with its name was refused /,
    );
    const fault = /1 token with its name was refused in the last 5 minutes, the last at \S+: /;
    assert.match((await fairlead('get clusters a --no-headers')).stdout, fault);
    assert.match((await fairlead('describe cluster a')).stdout, fault);
    await gateway.client.listNodes({}, call);
    assert.equal(await send(forged), 401);
    const ofSeen = await fairlead('status');
    assert.equal(ofSeen.status, 0, ofSeen.stdout);
    assert.doesNotMatch((await fairlead('get clusters a')).stdout, /refused/);
    assert.match(ofSeen.stdout, /^cluster a +2 tokens with its name were refused in the last 5 minutes, /m);
  });
});

test('a retirement with failed steps needs attention until it is finished, and a cluster that left snapshots says so', async t => {
  const gateway = await runGateway(t);
  const fairlead = operatorCli(gateway);
  const call = { deadlineMs: Date.now() + 60_000 };
  for (const id of ['a.one', 'b.one']) await gateway.create(id);
  await gateway.client.createSnapshot(
    { snapshotId: 'a.cut', body: { name: 'cut', volumeId: 'a.one' } },
    call,
  );
  await fairlead('admin check');
  assert.equal((await fairlead('admin retire-cluster a --volumes transfer --to b')).status, 2);
  const failed = await fairlead('status');
  assert.equal(failed.status, 1);
  assert.match(
    failed.stdout,
    /! cluster a: its retirement is not finished: steps failed, or it still runs\n {4}run it again .*: fairlead admin retire-cluster a$/m,
  );
  assert.match((await fairlead('get clusters a')).stdout, / its retirement is not finished$/m);
  assert.equal((await fairlead('admin retire-cluster a --volumes delete')).status, 0);
  const done = await fairlead('status');
  assert.match(
    done.stdout,
    /^everything works\n[^]*^cluster a +retired \d+s ago, 0 volumes, 1 snapshot, 0 nodes/m,
  );
});
