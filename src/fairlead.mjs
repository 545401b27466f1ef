#!/usr/bin/env node
// The entry is plain JavaScript, because what it does must be done before the first TypeScript file is loaded: from a
// warm compile cache nothing is stripped, and the stripper, which takes some 20 MB, is never loaded.
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import module from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';

// Little is computed on a node, so that memory counts for more than speed there: no optimizing compiler, and none at all
// for what is done at the start.
const thinFlags = [
  '--optimize-for-size',
  '--no-opt',
  '--no-maglev',
  '--no-sparkplug',
  '--semi-space-growth-factor=4',
];
/** After so long the start goes on with a cold cache. */
const warmingMs = 30_000;
/** Set for the process that only fills the compile cache. */
const warming = 'FAIRLEAD_WARMING';

if (!process.features.typescript) {
  process.stderr.write(
    `fairlead: Node ${process.versions.node} cannot run TypeScript; npx and npm scripts run on the Node 26 that npm ci installs\n`,
  );
  process.exit(1);
}
// The tools of an administrator lie where not every root shell looks.
process.env['PATH'] = [process.env['PATH'] ?? '/usr/bin:/bin', '/usr/sbin', '/sbin'].join(':');
const isThin = process.argv[2] === 'node';
if (isThin) for (const flag of thinFlags) setFlagsFromString(flag);
module.enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/fairlead', import.meta.url)));
if (isThin && !process.argv.includes('--help')) warmOnce();
hushExperiments();
await import('./cli/main.ts');
// What runs once is not worth compiling; what runs from here on is called again and again.
if (isThin) setFlagsFromString('--sparkplug');
// All but the one that is a program of its own.
if (process.env[warming])
  for (const path of listSources(['../src/csi', '../src/lib', '../node-agent']))
    if (basename(path) !== 'link.ts') await import(path);

/** At every start Node.js would say that node:ffi may change: the Node.js it is used with is the one npm ci installs. */
function hushExperiments() {
  const listeners = process.listeners('warning');
  process.removeAllListeners('warning');
  process.on('warning', warning => {
    if (warning.name !== 'ExperimentalWarning') for (const listener of listeners) listener(warning);
  });
}

/**
 * The first start of this code lets a process that ends fill the cache, with what is loaded only when it is needed too,
 * so that the one that stays is thin.
 */
function warmOnce() {
  const directory = module.getCompileCacheDir();
  if (directory === undefined) return;
  const times = listSources(['../src', '../node-agent']).map(path => Math.floor(statSync(path).mtimeMs));
  const mark = join(directory, `warm-${Math.max(...times)}`);
  if (existsSync(mark)) return;
  const { spawnSync } = process.getBuiltinModule('node:child_process');
  const env = { ...process.env, [warming]: '1' };
  spawnSync(process.execPath, [fileURLToPath(import.meta.url), 'node', '--help'], {
    stdio: 'ignore',
    env,
    timeout: warmingMs,
  });
  try {
    writeFileSync(mark, '');
  } catch {
    // A cache that cannot be written stays cold; the agent works all the same.
  }
}

/** The TypeScript files that hold code. */
function listSources(folders) {
  return folders
    .map(folder => fileURLToPath(new URL(folder, import.meta.url)))
    .flatMap(folder => readdirSync(folder, { recursive: true }).map(name => join(folder, name)))
    .filter(path => path.endsWith('.ts') && !path.includes('generated'));
}
