import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { bridgeCommand } from '../fakes/storages/bridged.ts';
import { runKit } from '../fakes/storages/kit.ts';
import { endProcess } from '../harness/exit.ts';
import { seed } from '../harness/sample.ts';
import { temporaryDirectory } from '../harness/temporary.ts';
import { directory, whyNoCluster } from './build/main.ts';
import { waitFor } from './cluster/wait.ts';

test(
  "the kit finds nothing in a bridge over Kubernetes' own mock driver, which checks and rounds no sizes",
  { skip: whyNoCluster(['mock-driver']) },
  async t => {
    const nodeId = 'mock-node';
    const endpoint = await startMockDriver(t, nodeId);
    const env = { CSI_ENDPOINT: endpoint, NODE_ID: nodeId };
    const report = await runKit(t, { command: bridgeCommand, seed, env });
    const faults = report.results.filter(({ failure }) => failure);
    assert.deepEqual(
      faults.map(({ id, failure }) => [id, failure?.expected]),
      [],
    );
    assert.deepEqual(report.left, []);
  },
);

/** Starts the mock driver, which ends with the test, and returns its endpoint. */
async function startMockDriver(t: TestContext, nodeId: string): Promise<string> {
  const socket = join(temporaryDirectory(t), 'csi.sock');
  const child = spawn(join(directory, 'mock-driver'), [socket, nodeId], { stdio: 'inherit' });
  await once(child, 'spawn');
  t.after(() => endProcess(child));
  await waitFor('the mock driver', () => existsSync(socket) || undefined);
  return `unix://${socket}`;
}
