import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operatorCli } from '../../harness/cli/run-cli.ts';
import { createSigner, volumeSpec } from '../../harness/gateway/gateway.ts';
import { runGateway } from '../../harness/gateway/program.ts';

test('fairlead status shows drained pools and retired clusters, and neither needs attention', async t => {
  // The quota of cluster a is used up, which no longer matters once the cluster is retired.
  const gateway = await runGateway(t, { clusters: { a: { quota: { volumes: 1 } }, b: {} } });
  const fairlead = operatorCli(gateway);
  const call = { deadlineMs: Date.now() + 60_000 };
  await gateway.client.createVolume({ volumeId: 'a.one', body: volumeSpec('one') }, call);
  assert.match((await fairlead('status')).stdout, /! cluster a: its quota is used up/);
  await fairlead('admin drain one');
  await fairlead('admin retire-cluster a');
  const { status, stdout } = await fairlead('status');
  assert.match(stdout, /^pool one +open, drained for \d+s, 0% of 1Ti reserved, 1 volume$/m);
  assert.match(stdout, /^cluster a +retired \d+s ago, 1 volume, 0 nodes, last seen \d+s ago$/m);
  assert.deepEqual([status, stdout.startsWith('everything works\n')], [0, true], stdout);

  await t.test('a controller that still runs in a retired cluster is to be uninstalled', async () => {
    const refused = gateway.client.createVolume({ volumeId: 'a.two', body: volumeSpec('two') }, call);
    await assert.rejects(refused, { code: 'UNAVAILABLE' });
    const later = await fairlead('status');
    assert.equal(later.status, 1);
    assert.match(
      later.stdout,
      /! cluster a: \d tokens? .* was retired.*\n {4}uninstall Fairlead in that cluster, or end its retirement: fairlead admin retire-cluster a --end\n/,
    );
  });
});

test('bad tokens of strangers do not make the health check of the operators fail', async t => {
  const gateway = await runGateway(t);
  const fairlead = operatorCli(gateway);
  const call = { deadlineMs: Date.now() + 60_000 };
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
    assert.match(ofSilent.stdout, /^1 problem needs attention\n! cluster a: 1 token with its name was refused /);
    await gateway.client.listNodes({}, call);
    assert.equal(await send(forged), 401);
    const ofSeen = await fairlead('status');
    assert.equal(ofSeen.status, 0, ofSeen.stdout);
    assert.match(ofSeen.stdout, /^cluster a +2 tokens with its name were refused in the last 5 minutes, /m);
  });
});
