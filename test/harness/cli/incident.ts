import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import * as z from 'zod';
import type { Backend } from '../../../gateway/backend.ts';
import { backends } from '../../../gateway/backends/index.ts';
import { poll } from '../../../src/lib/concurrency.ts';
import { openMemory, volumeSpec } from '../gateway/gateway.ts';
import { runGateway, type GatewayRun, type RunningGateway } from '../gateway/program.ts';
import { operatorCli, type CliResult } from './run-cli.ts';

const runbook = readFileSync('docs/runbook.md', 'utf8');

/** Reads the section of the runbook for an alert. */
function sectionOf(alert: string): string {
  const [, section] = runbook.split(`## ${alert}\n`);
  return section?.split('\n## ')[0] ?? assert.fail(`the runbook has no section ${alert}`);
}

/** A gateway with one pool `fast`, and its operator's command line, which counts its commands. */
export async function startIncident(t: TestContext, run: GatewayRun = {}) {
  const flags = { 'metrics-listen': '127.0.0.1:0', ...run.flags };
  const gateway = await runGateway(t, { pools: { fast: { backend: 'memory' } }, ...run, flags });
  const fairlead = operatorCli(gateway);
  let commands = 0;
  /** Runs a command of the operator, who needs at most three of them. */
  const ask = async (line: string): Promise<CliResult> => {
    assert.ok(++commands <= 3, 'the operator needed more than three commands');
    return fairlead(line);
  };
  async function metric(sample: string): Promise<number | undefined> {
    const answer = await fetch(`http://${gateway.ready['metrics']}/metrics`);
    const line = (await answer.text()).split('\n').find(one => one.startsWith(`${sample} `));
    return line === undefined ? undefined : Number(line.slice(sample.length));
  }
  return {
    gateway,
    ask,
    /** Runs a command that the runbook's section for the alert gives, as `fairlead` and these words. */
    async walk(alert: string, line: string, words = line): Promise<CliResult> {
      const commandsThere = sectionOf(alert).replaceAll(/\s+/g, ' ');
      assert.ok(commandsThere.includes(`\`fairlead ${words}`), `section ${alert} does not give ${words}`);
      return ask(line);
    },
    /** Reads the value of a metric. */
    metric,
    /** Waits until a metric has this value. A page of metrics may be a second old. */
    async untilMetric(sample: string, value: number): Promise<void> {
      const has = async () => (await metric(sample)) === value || undefined;
      assert.ok(await poll(has, { everyMs: 50, timeoutMs: 20_000 }), `${sample} is ${await metric(sample)}`);
    },
    /** Waits until `fairlead status` says this. It costs the operator nothing: an incident takes time to show. */
    async until(words: RegExp): Promise<void> {
      const said = await poll(async () => words.test((await fairlead('status')).stdout) || undefined, {
        everyMs: 50,
        timeoutMs: 20_000,
      });
      assert.ok(said, (await fairlead('status')).stdout);
    },
  };
}

export const call = () => ({ deadlineMs: Date.now() + 30_000 });

export function create({ client }: RunningGateway, name: string, requiredBytes = 2 ** 20) {
  return client.createVolume({ volumeId: `a.${name}`, body: volumeSpec(name, { requiredBytes }) }, call());
}

/** Makes the plug-in of a pool whose storage is memory, with members of the test's own. */
export async function storageOf(own: Partial<Backend>): Promise<Pick<GatewayRun, 'plugins' | 'pools'>> {
  const inner = await openMemory();
  const plugin = { settings: z.strictObject({}), open: async () => ({ ...inner, ...own }) };
  return { plugins: { ...backends, own: plugin }, pools: { fast: { backend: 'own' } } };
}
