import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { startHttp } from '../../../../node-agent/plugin/http.ts';
import { createMetrics } from '../../../../node-agent/plugin/metrics.ts';
import { connectCsi } from '../../../../src/csi/client.ts';
import { poll } from '../../../../src/lib/concurrency.ts';
import { countAbandoned, exec } from '../../../../src/lib/exec.ts';
import { driverName, openNode, type TestNode } from '../../../harness/agent.ts';
import { noRoot } from '../../../harness/machine.ts';
import { createFakeHost } from '../../../fakes/host.ts';

const skip = noRoot;

test('healthz tells of the CSI socket and of the registration', async t => {
  const node = openNode(t);
  const url = await startWithHttp(node);
  assert.deepEqual(await get(`${url}/healthz`), {
    status: 200,
    text: 'csi: ok\nregistration: waiting\n',
  });
  const kubelet = node.startKubelet();
  await kubelet.plugins.registered(driverName);
  await untilText(`${url}/healthz`, 'csi: ok\nregistration: registered\n');
});

test('healthz is 503 while kubelet refuses the driver, and 200 once it does not', async t => {
  const node = openNode(t);
  const url = await startWithHttp(node);
  let isRefused = true;
  const kubelet = node.startKubelet({ refuse: () => (isRefused ? 'no room' : undefined) });
  await untilText(`${url}/healthz`, 'csi: ok\nregistration: refused: no room\n');
  assert.equal((await get(`${url}/healthz`)).status, 503);
  assert.match((await get(`${url}/metrics`)).text, /^fairlead_node_registered 0$/m);
  isRefused = false;
  await kubelet.plugins.registered(driverName);
  await untilText(`${url}/healthz`, 'csi: ok\nregistration: registered\n');
  const { text } = await get(`${url}/metrics`);
  assert.match(text, /^fairlead_node_registered 1$/m);
  assert.match(text, /^fairlead_node_registration_refusals_total [1-9]/m);
});

test('healthz is 503 when the CSI socket is gone, or something else took its path', async t => {
  const node = openNode(t);
  const url = await startWithHttp(node, { 'registration-dir': '' });
  assert.deepEqual(await get(`${url}/healthz`), { status: 200, text: 'csi: ok\n' });
  const lost = { status: 503, text: 'csi: the socket does not answer\n' };
  rmSync(node.socket);
  assert.deepEqual(await get(`${url}/healthz`), lost);
  writeFileSync(node.socket, '');
  assert.deepEqual(await get(`${url}/healthz`), lost);
});

test(
  'metrics count RPCs, phases and commands, and say nothing of volumes but how they are',
  { skip },
  async t => {
    const node = openNode(t);
    const url = await startWithHttp(node);
    const kubelet = node.startKubelet();
    await kubelet.plugins.registered(driverName);
    const volume = node.makeVolume('secretive-volume');
    await kubelet.runPod({ uid: 'pod-1', volumes: [volume] });
    const client = connectCsi(`unix://${node.socket}`);
    await assert.rejects(client.node.NodeUnstageVolume({ volume_id: '' }), { code: 'INVALID_ARGUMENT' });
    client.close();
    const { text } = await get(`${url}/metrics`);
    for (const line of [
      'fairlead_node_rpcs_total{rpc="NodeStageVolume",code="OK"} 1',
      'fairlead_node_rpcs_total{rpc="NodePublishVolume",code="OK"} 1',
      'fairlead_node_rpcs_total{rpc="NodeUnstageVolume",code="INVALID_ARGUMENT"} 1',
      'fairlead_node_rpc_duration_seconds_bucket{rpc="NodeStageVolume",le="+Inf"} 1',
      'fairlead_node_rpc_duration_seconds_count{rpc="NodeStageVolume"} 1',
      'fairlead_node_command_duration_seconds_count{command="mkfs.ext4"} 1',
      'fairlead_node_records 1',
      'fairlead_node_stuck_children 0',
      'fairlead_node_phase_duration_seconds_count{phase="connect",outcome="done"} 1',
      'fairlead_node_phase_duration_seconds_count{phase="format",outcome="done"} 1',
      'fairlead_node_phase_duration_seconds_count{phase="mount",outcome="done"} 1',
      'fairlead_node_phase_duration_seconds_count{phase="bind",outcome="done"} 1',
      'fairlead_node_volume_healthy{volume_id="c.secretive-volume"} 1',
    ])
      assert.ok(text.split('\n').includes(line), `${line} is not in ${text}`);
    const others = text.replaceAll(/^fairlead_node_volume_healthy.*$/gm, '');
    assert.doesNotMatch(others, /secretive|pod-1|attachment|\/kubelet|\.img|c\./);
    assert.match(text, /^process_resident_memory_bytes \d+$/m);
    assertWellFormed(text);
    await kubelet.drain();
    const after = (await get(`${url}/metrics`)).text;
    assert.match(after, /^fairlead_node_records 0$/m);
    assert.match(
      after,
      /^fairlead_node_phase_duration_seconds_count\{phase="unmount",outcome="done"\} [1-9]/m,
    );
    assert.match(
      after,
      /^fairlead_node_phase_duration_seconds_count\{phase="disconnect",outcome="done"\} 1$/m,
    );
    assert.doesNotMatch(after, /secretive/);
  },
);

test('a damaged record is told at the start and shows in the metrics, and the others are served', async t => {
  const node = openNode(t);
  mkdirSync(`${node.state}/volumes/e`, { recursive: true });
  writeFileSync(`${node.state}/volumes/c_v-0123.json`, 'no JSON');
  const agent = node.startAgent({ 'metrics-listen': '127.0.0.1:0' });
  const { text } = await get(`http://${(await agent.ready)['metrics']}/metrics`);
  assert.match(text, /^fairlead_node_damaged_records 1$/m);
  assert.match(text, /^fairlead_node_records 0$/m);
  assert.match(agent.stderr(), /"path":"[^"]*\/c_v-0123\.json".*"msg":"the record of a volume is damaged"/);
});

test('what is asked for beside the two pages is refused', async t => {
  const node = openNode(t);
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

test('200 questions at once are one question to the CSI socket and are all answered', async t => {
  const node = openNode(t);
  const url = await startWithHttp(node, { 'registration-dir': '' });
  const answers = await Promise.all(Array.from({ length: 200 }, () => ask(`${url}/healthz`)));
  const answered = answers.filter(status => status === 200);
  assert.ok(answered.length >= 20, `only ${answered.length} answers`);
  // The connections of the flood end one by one, and no further one is taken meanwhile.
  while ((await ask(`${url}/metrics`)) !== 200) await new Promise(setImmediate);
  const { text } = await get(`${url}/metrics`);
  const probes = Number(/^fairlead_node_rpcs_total\{rpc="Probe",code="OK"\} (\d+)$/m.exec(text)?.[1]);
  assert.ok(probes < answered.length, `${probes} probes for ${answered.length} answers`);
});

test('a port that is taken is one clear line at the start, and no socket is left', async t => {
  const node = openNode(t);
  const taken = createServer().listen(0, '127.0.0.1');
  await new Promise(resolve => taken.once('listening', resolve));
  t.after(() => taken.close());
  const { port } = taken.address() as AddressInfo;
  const agent = node.startAgent({ 'metrics-listen': `127.0.0.1:${port}` });
  await assert.rejects(
    agent.ready,
    new RegExp(`fairlead node: 127\\.0\\.0\\.1:${port} is already in use\\n$`),
  );
  assert.equal(agent.stderr().trimEnd().split('\n').length, 1);
  await assert.rejects(connectOnce(node.socket));
});

for (const host of ['no-such-host.invalid', '192.0.2.1'])
  test(`the address ${host} to listen on is one clear line at the start`, async t => {
    const agent = openNode(t).startAgent({ 'metrics-listen': `${host}:80` });
    await assert.rejects(agent.ready);
    assert.match(agent.stderr(), new RegExp(`^fairlead node: .*${host.replaceAll('.', '\\.')}.*\n$`));
  });

test('a page that cannot be made is 500, and why is in the log alone', async t => {
  const faults: string[] = [];
  const server = await startHttp({
    host: '127.0.0.1',
    port: 0,
    pages: new Map([['/metrics', () => Promise.reject(new Error('mountinfo is gone'))]]),
    failed: (path, error) => void faults.push(`${path}: ${String(error)}`),
  });
  t.after(() => server.close());
  const page = await get(`http://${server.address}/metrics?x`);
  assert.deepEqual(page, { status: 500, text: 'the page could not be made\n' });
  assert.deepEqual(faults, ['/metrics: Error: mountinfo is gone']);
});

test('series of one metric are bounded, whatever the labels', async () => {
  const metrics = createMetrics();
  const host = metrics.observeHost(createFakeHost([]));
  for (let index = 0; index < 1_000; index++) await host.run(`tool-${index}`, []);
  const text = metrics.render([]);
  assert.ok(text.split('\n').length < 2_500, `${text.split('\n').length} lines`);
  assert.match(text, /^fairlead_node_command_duration_seconds_count\{command="other"\} 936$/m);
});

test('a command without an exit status counts by why it has none', async () => {
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

test('durations are counted in the bucket that they belong to', t => {
  let nowMs = 0;
  t.mock.method(performance, 'now', () => nowMs);
  const { observeRpc, render } = createMetrics();
  for (const durationMs of [5, 6, 120_000, 120_001]) {
    nowMs = 0;
    const ended = observeRpc('Probe');
    nowMs = durationMs;
    ended('OK');
  }
  const lines = render([]).split('\n');
  const buckets = lines.filter(line => line.startsWith('fairlead_node_rpc_duration_seconds_bucket'));
  assert.deepEqual(
    buckets.map(line => Number(line.split(' ')[1])),
    [1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 4],
  );
  assert.ok(lines.includes('fairlead_node_rpc_duration_seconds_sum{rpc="Probe"} 240.012'));
});

test('a command that is dead but whose output is held open does not count as stuck', async () => {
  const result = await exec('setsid', ['sleep', '4'], { timeoutMs: 100 });
  assert.equal(result.timedOut, true);
  const escaped = await exec('sh', ['-c', 'setsid sleep 3 & exit 0'], { timeoutMs: 100 });
  assert.equal(escaped.timedOut, true);
  assert.equal(countAbandoned(), 0);
});

async function startWithHttp(node: TestNode, settings: Record<string, string> = {}): Promise<string> {
  const agent = node.startAgent({ 'metrics-listen': '127.0.0.1:0', ...settings });
  const { metrics } = await agent.ready;
  return `http://${metrics}`;
}

async function get(url: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(url);
  return { status: response.status, text: await response.text() };
}

/** The status; undefined when the connection was not taken. */
async function ask(url: string): Promise<number | undefined> {
  try {
    return (await get(url)).status;
  } catch {
    return undefined;
  }
}

async function connectOnce(socket: string): Promise<void> {
  const client = connectCsi(`unix://${socket}`);
  try {
    await client.identity.Probe({}, 500);
  } finally {
    client.close();
  }
}

async function untilText(url: string, expected: string): Promise<void> {
  const look = async () => ((await get(url)).text === expected ? expected : undefined);
  await poll(look, { everyMs: 20, timeoutMs: 20_000 });
  assert.equal((await get(url)).text, expected);
}

/** Every line is a comment or a sample, every metric is described once and before its samples. */
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
