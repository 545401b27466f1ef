import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { createMetrics } from '../../../node-agent/plugin/metrics.ts';
import { runController } from '../../harness/controller.ts';
import { runGateway } from '../../harness/gateway/program.ts';

/** Lists the metrics that running gateways and controllers export. */
export async function exportedMetrics(t: TestContext): Promise<ReadonlySet<string>> {
  const { url, ready } = await runGateway(t, { flags: { 'metrics-listen': '127.0.0.1:0' } });
  const controller = await runController(t, { gateway: url, 'metrics-listen': '127.0.0.1:0' });
  const texts = [await readPage(ready['metrics']), await readPage(controller.ready['health'])];
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
