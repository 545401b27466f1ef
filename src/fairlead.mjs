#!/usr/bin/env node
// The entry is plain JavaScript, because what it does must be done before the first TypeScript file is loaded: from a
// warm compile cache nothing is stripped, and the stripper, which takes some 20 MB, is never loaded.
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

// Little is computed on a node, so that memory counts for more than speed there: no optimizing compiler, and none at all
// for the work at the start.
const thinFlags = '--optimize-for-size --no-opt --no-maglev --no-sparkplug --semi-space-growth-factor=4';
// Requests leave garbage that lives for a moment: a young generation that stays small keeps the process small. Maglev's
// code is quick enough for what takes 2 ms: Turbofan's takes 8 MB, and gains nothing that shows. What Maglev needed for a
// function is freed at once: with the one thread that V8 has it would wait for all others that get hot meanwhile, and the C
// library keeps what it once had.
const serverFlags =
  '--semi-space-growth-factor=1 --heap-growing-percent=30 --no-opt --no-maglev-destroy-on-background';
/** By then the agent is registered with kubelet, in milliseconds after its start. */
const collectAfterMs = 1_000;
const flags = {
  node: thinFlags,
  controller: serverFlags,
  // So little of it stays that waking other threads to collect it takes longer than collecting it.
  gateway: `${serverFlags} --no-parallel-scavenge`,
};

if (!process.features.typescript) {
  process.stderr.write(
    `fairlead: Node ${process.versions.node} cannot run TypeScript; npx and npm scripts run on the Node 26 that npm ci installs\n`,
  );
  process.exit(1);
}
// The tools of an administrator lie where not every root shell looks.
process.env['PATH'] = [process.env['PATH'] ?? '/usr/bin:/bin', '/usr/sbin', '/sbin'].join(':');
const program = process.argv[2] ?? '';
if (Object.hasOwn(flags, program)) setFlagsFromString(flags[program]);
// A portable cache is every user's: others have their user id in its name. Deno has a cache of its own.
const directory = fileURLToPath(new URL('../node_modules/.cache/fairlead', import.meta.url));
module.enableCompileCache?.({ directory, portable: true });
// At every start Node.js would say that node:ffi may change: the Node.js it is used with is the one npm ci installs.
const { emitWarning } = process;
process.emitWarning = (warning, type, ...more) =>
  type === 'ExperimentalWarning' || emitWarning(warning, type, ...more);
await import('./cli/main.ts');
// What runs once is not worth compiling; what runs from here on is called again and again.
if (program === 'node') {
  setFlagsFromString('--sparkplug');
  // What the start leaves behind, some 4 MB, would stay for as long as nothing is asked of the node.
  setFlagsFromString('--expose-gc');
  setTimeout(runInNewContext('gc'), collectAfterMs, { type: 'major', flavor: 'last-resort' }).unref();
}
// Set by compile-cache.mjs, to compile the files that are loaded late as well.
for (const url of process.env['FAIRLEAD_COMPILE']?.split(' ') ?? []) await import(url);
