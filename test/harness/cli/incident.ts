import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { poll } from '../../../src/lib/concurrency.ts';
import { runGateway, type GatewayRun } from '../gateway/program.ts';
import { operatorCli, type CliResult } from './run-cli.ts';

const runbook = readFileSync('docs/runbook.md', 'utf8');

/** Reads the section of the runbook for an alert. */
function sectionOf(alert: string): string {
  const [, section] = runbook.split(`## ${alert}\n`);
  return section?.split('\n## ')[0] ?? assert.fail(`the runbook has no section ${alert}`);
}

/** Lists the names that a command of the operator gives, without its flags and their values. */
function namesIn(line: string): readonly string[] {
  const words = line.replaceAll(/ --(?:force|dry-run)| --?[a-z-]+( \S+)?/g, '').split(' ');
  const verbs = words[0] === 'explain' || words[0] === 'status' || words[0] === 'top' ? 1 : 2;
  return words.slice(verbs);
}

/** A gateway with one pool `fast`, and its operator's command line, which counts its commands. */
export async function startIncident(t: TestContext, run: GatewayRun = {}) {
  const flags = { 'metrics-listen': '127.0.0.1:0', ...run.flags };
  const gateway = await runGateway(t, {
    pools: { fast: { backend: run.own ? 'own' : 'memory' } },
    ...run,
    flags,
  });
  const fairlead = operatorCli(gateway);
  let commands = 0;
  let known = readFileSync(join(gateway.directory, 'gateway.yaml'), 'utf8');
  /**
   * Runs a command of the operator, who needs at most three of them, and knows only names that were printed, heard, or
   * are in gateway.yaml.
   */
  const ask = async (line: string): Promise<CliResult> => {
    assert.ok(++commands <= 3, 'the operator needed more than three commands');
    const knownNames = new Set(known.split(/[\s"',:;()]+/));
    for (const name of namesIn(line)) assert.ok(knownNames.has(name), `the operator does not know "${name}"`);
    const result = await fairlead(line);
    known += result.stdout;
    return result;
  };
  async function metric(sample: string): Promise<number | undefined> {
    const answer = await fetch(`http://${gateway.ready['metrics']}/metrics`);
    const line = (await answer.text()).split('\n').find(one => one.startsWith(`${sample} `));
    return line === undefined ? undefined : Number(line.slice(sample.length));
  }
  return {
    gateway,
    ask,
    /** Tells the operator that a user waits for a volume. The first command has to do without its id. */
    hear(id: string): void {
      assert.ok(commands > 0, 'the first command needs an id');
      known += ` ${id}`;
    },
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
    /** Waits until a command says this. It costs the operator nothing: an incident takes time to show. */
    async until(words: RegExp, line = 'status'): Promise<void> {
      const said = await poll(async () => words.test((await fairlead(line)).stdout) || undefined, {
        everyMs: 50,
        timeoutMs: 20_000,
      });
      assert.ok(said, (await fairlead(line)).stdout);
    },
  };
}
