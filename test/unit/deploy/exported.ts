import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createMetrics } from '../../../node-agent/plugin/metrics.ts';
import { controllerSettings } from '../../../src/controller/config.ts';
import { startController } from '../../../src/controller/main.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { readSettings } from '../../../src/lib/settings.ts';
import { serve } from '../../fakes/storages/far-gateway.ts';
import { createSigner, temporaryDirectory } from '../../harness/gateway/gateway.ts';

/** Lists the metrics that running gateways and controllers export. */
export async function exportedMetrics(t: TestContext): Promise<ReadonlySet<string>> {
  const { url, metrics } = await serve(t, {
    pools: { main: { backend: 'memory' } },
    flags: ['--metrics-listen', '127.0.0.1:0'],
  });
  const texts = [await readPage(metrics), await readPage(await startMetered(t, url))];
  // The agent's own metrics need a node to be read.
  const rows = readFileSync('node-agent/plugin/observability.ts', 'utf8').matchAll(/'(fairlead_node_\w+)'/g);
  const lines = [...texts, createMetrics().render([])].join('\n').matchAll(/^# TYPE (\w+) /gm);
  return new Set([...lines, ...rows].map(([, name = '']) => name));
}

async function readPage(address: string | undefined): Promise<string> {
  const answer = await fetch(`http://${address}/metrics`);
  assert.equal(answer.status, 200);
  return answer.text();
}

/** Starts a controller that serves its metrics, and returns their URL. */
async function startMetered(t: TestContext, gateway: string): Promise<string | undefined> {
  const directory = temporaryDirectory(t);
  const at = (name: string): string => join(directory, name);
  const { privateJwk, kid } = await createSigner('a');
  writeFileSync(at('key.json'), JSON.stringify({ ...privateJwk, kid }), { mode: 0o600 });
  const given = { endpoint: `unix://${at('csi.sock')}`, 'key-file': at('key.json'), cluster: 'a', gateway };
  const argv = Object.entries({ ...given, 'metrics-listen': '127.0.0.1:0' }).map(one => `--${one.join('=')}`);
  const { values, faults } = readSettings(controllerSettings, { argv, env: {} });
  assert.ok(values, String(faults));
  const running = await startController(values, silentLog);
  t.after(() => running.close());
  return running.ready['health'];
}
