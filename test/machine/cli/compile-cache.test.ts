import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';

const [entry, compile] = ['src/fairlead.mjs', 'src/compile-cache.mjs'].map(path =>
  fileURLToPath(new URL(`../../../${path}`, import.meta.url)),
);
/** Makes the process print at its end whether it has loaded the code that strips types from TypeScript. */
const telling = `process.on('exit', () => process._rawDebug(process.moduleLoadList.some(name => name.includes('amaro'))))`;

function start(program: string, env: NodeJS.ProcessEnv = {}): string {
  const argv = ['--import', `data:text/javascript,${telling}`, entry ?? '', program, '--help'];
  const { NODE_COMPILE_CACHE: _, ...own } = process.env;
  return execFileSync('sh', ['-c', 'exec "$@" 2>&1', 'sh', process.execPath, ...argv], {
    encoding: 'utf8',
    env: { ...own, ...env },
  });
}

test('programs load no TypeScript from a filled cache, and start without one', () => {
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  execFileSync(process.execPath, [compile ?? ''], { env });
  for (const program of ['node', 'controller', 'gateway']) {
    assert.match(start(program), /Settings[^]*\nfalse\n$/, program);
    assert.match(start(program, { NODE_DISABLE_COMPILE_CACHE: '1' }), /Settings[^]*\ntrue\n$/, program);
  }
});
