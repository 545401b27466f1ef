import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test, type TestContext } from 'node:test';
import { createProbe } from '../../src/csi/client.ts';
import { pause, poll } from '../../src/lib/concurrency.ts';
import { driverName, prepareNode, type TestNode } from '../harness/node/program.ts';
import { type ProgramProcess } from '../harness/program.ts';
import { buildTools, whyNotBuildable } from './go.ts';
import { freePort, makeTemporaryDirectory, noRoot, removeTemporaryDirectory } from '../harness/machine.ts';
import { endProcess } from '../harness/exit.ts';

type Tool = 'csi-node-driver-registrar' | 'livenessprobe';

/** The directory of another build of the tools, in place of the releases that this module names. */
const given = process.env['SIDECARS_DIR'];
const module = join(import.meta.dirname, 'sidecars');
const directory = given ?? makeTemporaryDirectory();
const skip = noRoot || (given === undefined && whyNotBuildable(module)) || false;
if (given === undefined) {
  before(() => {
    if (skip === false) buildTools(module, directory);
  });
  after(() => removeTemporaryDirectory(directory));
}

/** The livenessprobe's own timeout: on a busy machine an agent answers late, but it does answer. */
const probeTimeout = '--probe-timeout=15s';
const patience = { everyMs: 50, timeoutMs: 60_000 };

test('the stock registrar registers the driver, also after the agent was killed', { skip }, async t => {
  const node = prepareNode(t);
  const settings = { 'registration-dir': '' };
  let agent = node.startAgent(settings);
  await agent.ready;
  const argv = [
    `--csi-address=${node.socket}`,
    `--kubelet-registration-path=${node.socket}`,
    `--plugin-registration-path=${join(node.root, 'plugins_registry')}`,
  ];
  const kubelet = node.startKubelet();
  for (let round = 0; round < 3; round++) {
    const registrar = startTool(t, 'csi-node-driver-registrar', argv);
    const registered = await kubelet.plugins.registered(driverName, kubelet.plugins.events.length);
    const { nodeId = '' } = await agent.ready;
    assert.deepEqual(registered, { name: driverName, endpoint: node.socket, nodeId });
    await kubelet.runPod({ uid: 'pod', volumes: [node.makeVolume('one')] });
    await kubelet.drain();
    assert.equal(registrar.exitCode, null);
    await agent.end('SIGKILL');
    agent = node.startAgent(settings);
    await agent.ready;
    // The registrar ends when it loses the agent's socket; then its container is started again.
    await endProcess(registrar, 'SIGTERM');
  }
});

test('the stock livenessprobe answers 200 while 50 volumes are staged', { skip }, async t => {
  const node = prepareNode(t);
  const agent = node.startAgent();
  const kubelet = node.startKubelet();
  await kubelet.plugins.registered(driverName);
  const url = await startLivenessProbe(t, node);
  const volumes = Array.from({ length: 50 }, (_, index) => node.makeVolume(`v-${index}`));
  const pods = volumes.map((volume, index) => kubelet.runPod({ uid: `p${index}`, volumes: [volume] }));
  const mounted = Promise.all(pods).then(() => 'mounted');
  let answers = 0;
  do {
    assert.equal((await fetch(url)).status, 200);
    answers++;
  } while ((await Promise.race([mounted, pause(10)])) !== 'mounted');
  t.diagnostic(`${answers} answers`);
  await kubelet.drain();
  await agent.end('SIGKILL');
  assert.equal((await fetch(url)).status, 500);
});

test('3,000 callers that connect, probe and disconnect leave memory and descriptors constant', async t => {
  const node: TestNode = prepareNode(t);
  const agent = node.startAgent({ 'registration-dir': '' });
  await agent.ready;
  await assertFlat(t, agent, createProbe(node.socket, 5_000));
});

async function assertFlat(
  t: TestContext,
  { pid }: ProgramProcess,
  ask: () => Promise<boolean>,
): Promise<void> {
  const repeat = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left--) assert.equal(await ask(), true);
  };
  await repeat(1_000);
  const first = usageOf(pid);
  await repeat(3_000);
  const flat = await poll(() => {
    const last = usageOf(pid);
    const isFlat = last.descriptors <= first.descriptors + 1 && last.privateMB < first.privateMB + 8;
    return isFlat ? last : undefined;
  }, patience);
  t.diagnostic(`before ${JSON.stringify(first)}, after ${JSON.stringify(usageOf(pid))}`);
  assert.ok(flat);
}

function usageOf(pid: number): { readonly descriptors: number; readonly privateMB: number } {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const privateKB = Number(/^Pss_Anon:\s+(\d+) kB/m.exec(text)?.[1]);
  return { descriptors: readdirSync(`/proc/${pid}/fd`).length, privateMB: Math.round(privateKB / 1024) };
}

function startTool(t: TestContext, tool: Tool, argv: readonly string[]) {
  const child = spawn(join(directory, tool), argv, { stdio: 'ignore' });
  t.after(() => endProcess(child));
  return child;
}

/** Starts the livenessprobe of a node's agent and returns its URL once it answers. */
async function startLivenessProbe(t: TestContext, node: TestNode): Promise<string> {
  const port = await freePort();
  const argv = [`--csi-address=${node.socket}`, `--http-endpoint=127.0.0.1:${port}`, probeTimeout];
  startTool(t, 'livenessprobe', argv);
  const url = `http://127.0.0.1:${port}/healthz`;
  const isAnswered = await poll(
    () =>
      fetch(url).then(
        ({ status }) => status === 200 || undefined,
        () => undefined,
      ),
    patience,
  );
  assert.ok(isAnswered, `${url} does not answer 200`);
  return url;
}
