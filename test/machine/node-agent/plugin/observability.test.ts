import assert from 'node:assert/strict';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { createMetrics } from '../../../../node-agent/plugin/metrics.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { readMetrics } from '../../../harness/node/metrics.ts';
import { driverName, prepareNode, runNode, type TestNode } from '../../../harness/node/program.ts';
import { type ProgramProcess } from '../../../harness/program.ts';
import { testAsRoot } from '../../../harness/machine.ts';
import { createFakeHost } from '../../../fakes/host.ts';
import { listen } from '../../../harness/listen.ts';
import { clientOf } from '../../../harness/csi-serving.ts';

test('healthz reports the CSI socket and the registration, and is 503 while kubelet refuses the driver; readyz is 503 until it is registered', async t => {
  const node = prepareNode(t);
  const url = await startWithHttp(node);
  assert.deepEqual(await get(`${url}/healthz`), { status: 200, text: `${health('waiting')}volumes: 0\n` });
  assert.deepEqual(await get(`${url}/readyz`), { status: 503, text: health('waiting') });
  let isRefused = true;
  const kubelet = node.startKubelet({ refuse: () => (isRefused ? 'no space' : undefined) });
  await untilText(`${url}/readyz`, health('refused: no space'));
  for (const page of ['healthz', 'readyz']) assert.equal((await get(`${url}/${page}`)).status, 503);
  await readMetrics(`${url}/metrics`, ['fairlead_node_registered 0']);
  isRefused = false;
  await kubelet.plugins.registered(driverName);
  await untilText(`${url}/readyz`, health('registered'));
  assert.equal((await get(`${url}/readyz`)).status, 200);
  const text = await readMetrics(`${url}/metrics`, [
    'fairlead_node_registered 1',
    '# TYPE fairlead_node_registration_refusals_total counter',
  ]);
  assert.match(text, /^fairlead_node_registration_refusals_total [1-9]/m);
});

test('healthz is 503 when the CSI socket is missing or replaced', async t => {
  const node = prepareNode(t);
  const url = await startWithHttp(node, { 'registration-dir': '' });
  assert.deepEqual(await get(`${url}/healthz`), { status: 200, text: 'csi: ok\nvolumes: 0\n' });
  const lost = { status: 503, text: 'csi: the socket does not answer\nvolumes: 0\n' };
  rmSync(node.socket);
  assert.deepEqual(await get(`${url}/healthz`), lost);
  writeFileSync(node.socket, '');
  assert.deepEqual(await get(`${url}/healthz`), lost);
});

testAsRoot('healthz counts the volumes on the node', async t => {
  const { node, agent, kubelet, drain } = await runNode(t, withHttp);
  const url = await urlOf(agent);
  await kubelet.runPod({ uid: 'pod-1', volumes: [node.makeVolume('one')] });
  assert.match((await get(`${url}/healthz`)).text, /^volumes: 1$/m);
  await drain();
  assert.match((await get(`${url}/healthz`)).text, /^volumes: 0$/m);
});

testAsRoot('metrics count RPCs, phases and commands, and of volumes say only how they are', async t => {
  const { node, agent, kubelet, drain } = await runNode(t, withHttp);
  const url = await urlOf(agent);
  await kubelet.runPod({ uid: 'pod-1', volumes: [node.makeVolume('secretive-volume')] });
  const client = clientOf(t, node.socket);
  await assert.rejects(client.node.NodeUnstageVolume({ volume_id: '' }), { code: 'INVALID_ARGUMENT' });
  const text = await readMetrics(`${url}/metrics`, [
    'fairlead_node_rpcs_total{rpc="NodeStageVolume",code="OK"} 1',
    'fairlead_node_rpcs_total{rpc="NodeUnstageVolume",code="INVALID_ARGUMENT"} 1',
    'fairlead_node_rpc_duration_seconds_bucket{rpc="NodeStageVolume",le="+Inf"} 1',
    'fairlead_node_rpc_duration_seconds_count{rpc="NodeStageVolume"} 1',
    'fairlead_node_command_duration_seconds_count{command="mkfs.ext4"} 1',
    'fairlead_node_records 1',
    'fairlead_node_stuck_children 0',
    ...['connect', 'format', 'mount', 'bind'].map(phase => phaseLine(phase)),
    'fairlead_node_volume_healthy{volume_id="c.secretive-volume"} 1',
  ]);
  const others = text.replaceAll(/^fairlead_node_volume_healthy.*$/gm, '');
  assert.doesNotMatch(others, /secretive|pod-1|attachment|\/kubelet|\.img|c\./);
  assert.match(text, /^process_resident_memory_bytes \d+$/m);
  assertWellFormed(text);
  await drain();
  const after = await readMetrics(`${url}/metrics`, ['fairlead_node_records 0', phaseLine('disconnect')]);
  assert.doesNotMatch(after, /secretive/);
});

test('other requests than the two pages are refused', async t => {
  const node = prepareNode(t);
  const url = await startWithHttp(node);
  for (const path of ['/', '/metrics/', '/../etc/passwd', '/constructor', '/__proto__', '/healthz%00'])
    assert.equal((await get(`${url}${path}`)).status, 404, path);
  const post = await fetch(`${url}/metrics`, { method: 'POST', body: 'x'.repeat(100_000) });
  assert.equal(post.status, 405);
  assert.equal(post.headers.get('allow'), 'GET, HEAD');
  const head = await fetch(`${url}/healthz?verbose`, { method: 'HEAD' });
  assert.equal(head.status, 200);
  assert.equal(await head.text(), '');
});

test('an address that cannot be listened on is one clear line at the start, and no socket is left', async t => {
  const taken = await listen(t, createServer());
  for (const [address, fault] of [
    [taken, `${taken} is already in use`],
    ['no-such-host.invalid:80', '.*no-such-host\\.invalid.*'],
    ['192.0.2.1:80', '.*192\\.0\\.2\\.1.*'],
  ] as const) {
    const node = prepareNode(t);
    const agent = node.startAgent({ 'metrics-listen': address });
    await assert.rejects(agent.ready);
    assert.match(agent.stderr(), new RegExp(`^fairlead node: ${fault}\n$`));
    assert.equal(existsSync(node.socket), false);
  }
});

test('a command without an exit status is counted by its reason', async () => {
  const metrics = createMetrics();
  const fake = createFakeHost([]);
  const { extra } = fake.state;
  extra.set('mount', () => 32);
  extra.set('umount', () => ({ status: undefined, timedOut: true }));
  extra.set('losetup', () => ({ status: undefined }));
  extra.set('dd', () => ({ status: undefined, fault: 'EMFILE' }));
  const host = metrics.observeHost(fake);
  for (const command of ['mount', 'umount', 'losetup', 'dd']) await host.run(command, []);
  const lines = metrics.render([]).split('\n');
  assert.deepEqual(
    lines.filter(line => line.startsWith('fairlead_node_command_failures_total')).map(line => line.slice(37)),
    [
      'command="umount",how="timeout"} 1',
      'command="losetup",how="killed"} 1',
      'command="dd",how="EMFILE"} 1',
    ],
  );
});

test('durations are counted in their bucket', t => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const { observeRpc, render } = createMetrics();
  for (const durationMs of [5, 6, 120_000, 120_001]) {
    nowMs = 0;
    const { end } = observeRpc('Probe');
    nowMs = durationMs;
    end('OK');
  }
  const lines = render([]).split('\n');
  const buckets = lines.filter(line => line.startsWith('fairlead_node_rpc_duration_seconds_bucket'));
  assert.deepEqual(
    buckets.map(line => Number(line.split(' ')[1])),
    [1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 4],
  );
  assert.ok(lines.includes('fairlead_node_rpc_duration_seconds_sum{rpc="Probe"} 240.012'));
});

const withHttp = { 'metrics-listen': '127.0.0.1:0' };

function startWithHttp(node: TestNode, settings: Record<string, string> = {}): Promise<string> {
  return urlOf(node.startAgent({ ...withHttp, ...settings }));
}

async function urlOf({ ready }: ProgramProcess): Promise<string> {
  return `http://${(await ready)['metrics']}`;
}

/** Makes the answer of readyz while the socket answers. */
function health(registration: string): string {
  return `csi: ok\nregistration: ${registration}\n`;
}

function phaseLine(phase: string): string {
  return `fairlead_node_phase_duration_seconds_count{phase="${phase}",outcome="done"} 1`;
}

async function get(url: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(url);
  return { status: response.status, text: await response.text() };
}

async function untilText(url: string, expected: string): Promise<void> {
  const look = async () => ((await get(url)).text === expected ? expected : undefined);
  await poll(look, { everyMs: 20, timeoutMs: 20_000 });
  assert.equal((await get(url)).text, expected);
}

/** Fails unless every line is a comment or a sample, and every metric is described once and before its samples. */
function assertWellFormed(text: string): void {
  const described = new Set<string>();
  for (const line of text.trimEnd().split('\n')) {
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line);
    if (type?.[1] !== undefined) {
      assert.ok(!described.has(type[1]), line);
      described.add(type[1]);
      continue;
    }
    if (line.startsWith('# HELP ')) continue;
    const sample =
      /^([a-z_]+?)(?:_bucket|_sum|_count)?(?:\{[a-z_]+="[^"]*"(?:,[a-z_]+="[^"]*")*\})? [\d.e+-]+$/.exec(
        line,
      );
    assert.ok(sample?.[1] !== undefined && described.has(sample[1]), line);
  }
}
