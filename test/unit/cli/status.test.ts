import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operatorCli } from '../../harness/cli/run-cli.ts';
import { volumeSpec } from '../../harness/gateway/gateway.ts';
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
