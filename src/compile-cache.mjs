// Fills the compile cache when the package is installed or the image is built. Each program runs in its own process with
// its V8 flags and this process's flags, because V8 rejects code that was compiled with other flags.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

const programs = /\b(cephfs\/with-key|loop\/cut-off)\.ts$/;
const late = ['../src/csi', '../src/lib', '../node-agent'].flatMap(listSources).join(' ');

for (const program of ['node', 'controller', 'gateway']) {
  const { status } = spawnSync(
    process.execPath,
    [...process.execArgv, pathOf('./fairlead.mjs'), program, '--help'],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, ...(program === 'node' && { FAIRLEAD_COMPILE: late }) },
    },
  );
  if (status !== 0) process.exitCode = 1;
}

/** Lists the TypeScript files with code, except separate programs. */
function listSources(folder) {
  return readdirSync(pathOf(folder), { recursive: true })
    .filter(name => name.endsWith('.ts') && !name.includes('generated') && !programs.test(name))
    .map(name => pathToFileURL(`${pathOf(folder)}/${name}`).href);
}

function pathOf(relative) {
  return fileURLToPath(new URL(relative, import.meta.url));
}
