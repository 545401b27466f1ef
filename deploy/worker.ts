import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type PluginBuild } from 'esbuild';

const top = fileURLToPath(new URL('..', import.meta.url));

/** Bundles the gateway for workerd and Cloudflare Workers into one module, and returns its size in bytes. */
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
    // Modules that the runtime provides, and an optional one of pg.
    external: ['node:*', 'cloudflare:*', ...builtins],
    // pg is CommonJS and loads the runtime's modules with `require`, so the bundle has to define that function.
    banner: { js: requireBuiltins },
    plugins: [{ name: 'omit unused files of zod', setup: omitUnused }],
    logLevel: 'error',
  });
  return Object.values(metafile.outputs)[0]?.bytes ?? 0;
}

/**
 * Unused files of zod with their exports: messages in all languages, schemas read from JSON, and schemas compiled to code.
 */
const unused: Readonly<Record<string, readonly string[]>> = {
  'locales/index.js': [],
  'classic/from-json-schema.js': ['fromJSONSchema'],
  'core/compile.js': [
    'INVALID',
    'ZodCompileAsyncError',
    'ZodCompileUnsupportedError',
    'compile',
    'withParser',
    'compileFn',
  ],
};

function omitUnused({ onLoad }: PluginBuild): void {
  for (const [file, names] of Object.entries(unused))
    onLoad({ filter: new RegExp(`/zod/v4/${file.replaceAll('.', String.raw`\.`)}$`) }, () => ({
      contents: names.map(name => `export const ${name} = undefined;`).join('\n'),
    }));
}

const requireBuiltins =
  "import{createRequire}from'node:module';const load=createRequire('/'),require=name=>{const found=load(name);return found.default??found};";

/** Modules of the runtime that pg loads without the prefix node: in their names. */
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
