#!/usr/bin/env node
// The entry is plain JavaScript, because it turns on the compile cache before the first TypeScript file is loaded. With a
// warm cache no types are stripped, and the stripper, which takes about 20 MB, is never loaded.
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { requirementProblem } from './requirement.mjs';

// The node agent computes little, so memory counts for more than speed: no optimizing compiler, and at the start no
// compiler at all.
const thinFlags = '--optimize-for-size --no-opt --no-maglev --no-sparkplug --semi-space-growth-factor=4';
// Requests leave garbage that lives for a moment: a small young generation keeps the process small. Maglev's code is fast
// enough for requests of 2 ms; Turbofan takes 8 MB more and gains nothing measurable. Maglev frees its memory after each
// function: freed in the background, the memory of many functions adds up, and the C library does not return it.
const serverFlags =
  '--semi-space-growth-factor=1 --heap-growing-percent=30 --no-opt --no-maglev-destroy-on-background';
/** The agent is registered with kubelet before this time after its start. */
const collectAfterMs = 1_000;
const flags = {
  node: thinFlags,
  controller: serverFlags,
  // So few objects survive that waking other threads to collect takes longer than the collection.
  gateway: `${serverFlags} --no-parallel-scavenge`,
};

const program = process.argv[2] ?? '';
const problem = requirementProblem(program);
if (problem !== undefined) {
  process.stderr.write(`fairlead: ${problem}\n`);
  process.exit(1);
}
// Not every root shell has the administrator's tools on its PATH.
process.env['PATH'] = [process.env['PATH'] ?? '/usr/bin:/bin', '/usr/sbin', '/sbin'].join(':');
if (Object.hasOwn(flags, program)) setFlagsFromString(flags[program]);
// All users share a portable cache; any other kind has the user's id in its name. Deno has its own cache.
const directory = fileURLToPath(new URL('../node_modules/.cache/fairlead', import.meta.url));
// Node.js before 25, which runs the package's commands, takes only a directory.
const isCurrent = Number.parseInt(process.versions.node, 10) >= 25;
module.enableCompileCache?.(isCurrent ? { directory, portable: true } : directory);
// Node.js would warn at every start that node:ffi may change; npm ci installs the one version of Node.js that is used.
const { emitWarning } = process;
process.emitWarning = (warning, type, ...more) =>
  type === 'ExperimentalWarning' || emitWarning(warning, type, ...more);
await import('./cli/main.ts');
// Code that ran once at the start is not worth compiling; code from here on runs often.
if (program === 'node') {
  setFlagsFromString('--sparkplug');
  // The start leaves 4 MB of garbage, which would stay until requests arrive.
  setFlagsFromString('--expose-gc');
  setTimeout(runInNewContext('gc'), collectAfterMs, { type: 'major', flavor: 'last-resort' }).unref();
}
// Set by compile-cache.mjs, which also compiles the files that are loaded late.
for (const url of process.env['FAIRLEAD_COMPILE']?.split(' ') ?? []) await import(url);
