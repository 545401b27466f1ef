import { mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type PluginBuild } from 'esbuild';
import { version } from '../src/lib/version.ts';

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
    // Modules that the runtime provides, and pg's other client, which is loaded only if it is asked for.
    external: ['node:*', 'cloudflare:*', '*/native', ...builtins],
    plugins: [{ name: 'unused', setup: replaceUnused }],
    // pg is CommonJS and loads the runtime's modules with `require`, so the bundle has to define that function.
    banner: { js: requireBuiltins },
    logLevel: 'error',
  });
  return Object.values(metafile.outputs)[0]?.bytes ?? 0;
}

/** Leaves out pg's search for a password in a file, which a Worker has not, its binary format, and its binding to a certificate, YAML's writing and its types of version 1.1, and our package except its version. */
function replaceUnused({ onLoad }: PluginBuild): void {
  const contents = {
    noPassword: 'module.exports = (_, done) => done();',
    noBinary: 'exports.init = () => {};',
    noBinding:
      "exports.signatureAlgorithmHashFromCertificate = () => { throw new Error('this bundle binds to no certificate'); };",
    noWriting:
      "const refuse = () => { throw new Error('this bundle writes no YAML'); }; export { refuse as createStringifyContext, refuse as stringify, refuse as stringifyString, refuse as stringifyCollection, refuse as stringifyPair, refuse as stringifyDocument };",
    noOldTypes:
      'const none = undefined; export { none as schema, none as binary, none as omap, none as pairs, none as set, none as timestamp, none as intTime, none as floatTime };',
    version: `export const version = ${JSON.stringify(version)};`,
  };
  onLoad({ filter: /\/pgpass\/lib\/index\.js$/ }, () => ({ contents: contents.noPassword }));
  onLoad({ filter: /\/pg\/lib\/crypto\/cert-signatures\.js$/ }, () => ({ contents: contents.noBinding }));
  onLoad({ filter: /\/pg-types\/lib\/binaryParsers\.js$/ }, () => ({ contents: contents.noBinary }));
  onLoad({ filter: /\/yaml\/.*\/stringify(String|Collection|Pair|Document)?\.js$/ }, () => ({
    contents: contents.noWriting,
  }));
  onLoad({ filter: /\/yaml\/.*\/yaml-1\.1\/(schema|binary|omap|pairs|set|timestamp)\.js$/ }, () => ({
    contents: contents.noOldTypes,
  }));
  onLoad({ filter: /\/src\/lib\/version\.ts$/ }, () => ({ contents: contents.version }));
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
];

if (import.meta.main) {
  const path = resolve(process.argv[2] ?? 'dist/worker.js');
  process.stdout.write(`${path}: ${await bundleWorker(path)} bytes\n`);
}
