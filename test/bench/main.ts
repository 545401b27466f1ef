import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bridgeBench } from './bridge.ts';
import { consoleBench } from './console.ts';
import { createBench } from './create.ts';
import { cycleBench } from './cycle.ts';
import { devicesBench, exportsBench } from './exports/exports.ts';
import { fairnessBench } from './fairness/fairness.ts';
import { describe, type Bench, type Figure } from './figure.ts';
import { growthBench } from './growth.ts';
import { nodeManyBench } from './node-many.ts';
import { drawCurves } from './plot.ts';
import { replicasBench } from './replicas.ts';
import { scaleBench } from './scale.ts';

const benches: readonly Bench[] = [
  cycleBench,
  nodeManyBench,
  createBench,
  bridgeBench,
  replicasBench,
  fairnessBench,
  scaleBench,
  growthBench,
  consoleBench,
  exportsBench,
  devicesBench,
];

const usage = `Usage: npm run bench [-- --only NAME,…] [--json FILE] [--plot FILE]

Measures each figure beside its floor in the same run, prints them as a table, and writes them as JSON when asked.
Draws the costs that were measured by size as an SVG image when asked.
It needs root, for loop devices and mounts.

${benches.map(({ name, doc }) => `  ${name.padEnd(10)} ${doc}`).join('\n')}
`;

await main();

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      json: { type: 'string' },
      plot: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return void process.stdout.write(usage);
  const names = values.only?.split(',') ?? benches.map(({ name }) => name);
  const unknown = names.find(name => benches.every(bench => bench.name !== name));
  if (unknown !== undefined)
    return fail(
      `there is no benchmark "${unknown}"; there are ${benches.map(({ name }) => name).join(', ')}`,
    );
  if (process.getuid?.() !== 0)
    return fail('it attaches loop devices and mounts filesystems, which needs root');
  // A program that is missing in the compile cache would load the code that strips its types, and keep that memory.
  execFileSync(process.execPath, [join(import.meta.dirname, '../../src/compile-cache.mjs')]);
  const all: Record<string, readonly Figure[]> = {};
  for (const { name, doc, run } of benches.filter(bench => names.includes(bench.name))) {
    process.stdout.write(`\n${name}: ${doc}\n`);
    const figures = await run();
    all[name] = figures;
    process.stdout.write(`${describe(figures)}\n`);
  }
  if (values.json !== undefined)
    writeFileSync(values.json, `${JSON.stringify({ node: process.version, benches: all }, null, 2)}\n`);
  const curves = Object.values(all).flatMap(figures => figures.flatMap(({ curve }) => curve ?? []));
  if (values.plot !== undefined) writeFileSync(values.plot, drawCurves(curves));
}

function fail(reason: string): void {
  process.stderr.write(`bench: ${reason}\n`);
  process.exitCode = 1;
}
