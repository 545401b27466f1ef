import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type PluginBuild } from 'esbuild';

const top = fileURLToPath(new URL('..', import.meta.url));

/** Writes the gateway for workerd and Cloudflare Workers as one module; gives its size in bytes. */
export async function bundleWorker(path: string): Promise<number> {
  mkdirSync(dirname(path), { recursive: true });
  const { metafile } = await build({
    stdin: { contents: "export { worker as default } from './gateway/entries/worker.ts'", resolveDir: top },
    outfile: path,
    absWorkingDir: top,
    bundle: true,
    minify: true,
    metafile: true,
    format: 'esm',
    target: 'esnext',
    conditions: ['workerd'],
    // What the runtime has; of pg what it does not need there.
    external: ['node:*', 'cloudflare:*', ...builtins],
    // pg is CommonJS, and asks for what the runtime has by `require`, which gives modules as they are imported there.
    banner: { js: requireBuiltins },
    plugins: [{ name: 'English alone', setup: leaveOutLocales }],
    logLevel: 'error',
  });
  return Object.values(metafile.outputs)[0]?.bytes ?? 0;
}

/** zod has its messages in all languages; ours are English, and our own. */
function leaveOutLocales({ onLoad }: PluginBuild): void {
  onLoad({ filter: /\/zod\/v4\/locales\/index\.js$/ }, () => ({ contents: '' }));
}

const requireBuiltins =
  "import{createRequire}from'node:module';const load=createRequire('/'),require=name=>{const found=load(name);return found.default??found};";

/** By these names pg imports what the runtime has as node:… */
const builtins = [
  'events',
  'crypto',
  'dns',
  'fs',
  'net',
  'tls',
  'path',
  'stream',
  'string_decoder',
  'url',
  'util',
  'pg-native',
];

if (import.meta.main) {
  const path = resolve(process.argv[2] ?? 'dist/worker.js');
  process.stdout.write(`${path}: ${await bundleWorker(path)} bytes\n`);
}
