import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { Pool } from 'undici';
import type { CsiClient } from '../../src/csi/client.ts';
import { openDev } from '../harness/dev.ts';
import { startProgram } from '../harness/program.ts';
import { stackOf, type CleanupScope } from '../harness/temporary.ts';
import { inScope, type Bench, type Figure } from './figure.ts';
import { childOf, measureAlternately } from './processes.ts';
import { createVolume, ext4, unlimited } from './volume.ts';

const token = 'bench';
const floor = 'the same calls of the driver itself';

/** Measures the time and CPU that the bridge adds to the calls of a driver's controller plugin. */
export const bridgeBench: Bench = {
  name: 'bridge',
  doc: 'create, attach, detach and delete of a volume through fairlead bridge, beside the same calls of its driver, which is Fairlead itself',
  run: () => inScope(measure),
};

async function measure(t: CleanupScope): Promise<readonly Figure[]> {
  const { dir, dev, controller } = await openDev(t, unlimited);
  const driver = ['controller', 'gateway'].map(program => childOf(dev.pid, program));
  const bridge = await startBridge(t, dir, dev);
  const direct = {
    pids: driver,
    run: (index: number) => callDriver(controller, `direct-${index}`, dev.nodeId),
  };
  const hop = {
    pids: [...driver, bridge.pid],
    run: (index: number) => callBridge(bridge.send, `bench.${index}`),
  };
  const [ours, theirs] = await measureAlternately([hop, direct], { perRound: 25, concurrency: 1 });
  const name = 'create, attach, detach, delete over the bridge';
  return [
    { name: `${name}, time`, value: ours.ms, unit: 'ms', floor: [floor, theirs.ms], target: '≤ 1.6×' },
    { name: `${name}, CPU`, value: ours.cpuMs, unit: 'ms CPU', floor: [floor, theirs.cpuMs], target: '≤ 2×' },
  ];
}

type Send = (method: 'PUT' | 'DELETE', path: string, body?: object) => Promise<void>;

/** Starts a bridge over the driver and reports its node. */
async function startBridge(
  t: CleanupScope,
  dir: string,
  { controller, nodeId }: { readonly controller: string; readonly nodeId: string },
) {
  writeFileSync(join(dir, 'token'), token);
  const bridge = startProgram('bridge', {
    'csi-endpoint': controller,
    dir: join(dir, 'bridge'),
    listen: '127.0.0.1:0',
    'token-file': join(dir, 'token'),
    'node-id': nodeId,
    'log-level': 'warn',
  });
  stackOf(t).defer(() => bridge.end());
  const pool = new Pool((await bridge.ready)['bridge'] ?? '');
  t.after(() => pool.close());
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const send: Send = async (method, path, body) => {
    const answer = await pool.request({
      method,
      path: `/v1/${path}`,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300)
      throw new Error(`${method} ${path} was answered ${answer.statusCode}: ${text}`);
  };
  await send('PUT', 'nodes/n1', { name: 'n1' });
  return { pid: bridge.pid, send };
}

async function callDriver(client: CsiClient, name: string, node_id: string): Promise<void> {
  const volume_id = await createVolume(client, name);
  await client.controller.ControllerPublishVolume({ volume_id, node_id, volume_capability: ext4 });
  await client.controller.ControllerUnpublishVolume({ volume_id, node_id });
  await client.controller.DeleteVolume({ volume_id });
}

async function callBridge(send: Send, id: string): Promise<void> {
  const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER', fsType: 'ext4' };
  const attachment = `volumes/${id}/attachments/n1`;
  await send('PUT', `volumes/${id}`, { name: id, requiredBytes: 2 ** 30, capabilities: [capability] });
  await send('PUT', attachment, { capability, readonly: false });
  await send('DELETE', attachment);
  await send('DELETE', `volumes/${id}`);
}
