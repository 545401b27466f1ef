import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type PluginBuild } from 'esbuild';
import { buildConsole } from '../console.ts';

const top = fileURLToPath(new URL('../..', import.meta.url));

/** Files that Node.js starts or that others import, by their names in the package's folder lib/. */
const entries = {
  'fairlead.mjs': 'src/fairlead.mjs',
  'cut-off.js': 'node-agent/connectors/loop/cut-off.ts',
  'with-key.js': 'node-agent/connectors/cephfs/with-key.ts',
  'lambda.js': 'gateway/entries/lambda.ts',
  'backend.js': 'src/sdk/backend.ts',
  'testing.js': 'src/sdk/testing.ts',
  'vendor.js': 'src/sdk/server/vendor.ts',
} as const;

/** Files and folders that the code finds beside itself: their paths in the checkout, and from lib/ in the package. */
const places: Readonly<Record<string, string>> = {
  '': '..',
  'node_modules/.cache/fairlead': '../node_modules/.cache/fairlead',
  'node_modules/.cache/fairlead/console': './console/',
  ...Object.fromEntries(Object.entries(entries).map(([name, path]) => [path, `./${name}`])),
};

/** The file that says which versions of Node.js run Fairlead, and the one that says it for the package. */
const requirement = { checkout: 'src/requirement.mjs', package: 'deploy/release/requirement.ts' };

/**
 * Bundles all programs and the libraries for others into `directory`, with everything that they import. Parts that a program loads
 * late are files of their own. Node.js loads one file in a fraction of the time that hundreds take.
 */
export async function bundle(directory: string): Promise<void> {
  const { metafile } = await build({
    entryPoints: Object.entries(entries).map(([name, path]) => ({
      in: path,
      out: name.replace(/\.m?js$/, ''),
    })),
    outdir: directory,
    absWorkingDir: top,
    bundle: true,
    splitting: true,
    minifySyntax: true,
    minifyWhitespace: true,
    metafile: true,
    legalComments: 'none',
    format: 'esm',
    platform: 'node',
    target: 'node22',
    chunkNames: '[name]-[hash]',
    inject: ['deploy/release/older-node.ts'],
    external: ['pg-native'],
    banner: { js: requireBuiltins },
    plugins: [{ name: 'files beside the code', setup: moveFiles }],
    logLevel: 'error',
  });
  const entry = join(directory, 'fairlead.mjs');
  writeFileSync(entry, `#!/usr/bin/env node\nimport './fairlead.js';\n`, { mode: 0o755 });
  const { inputs } = await buildConsole(join(directory, 'console'));
  writeFileSync(
    join(directory, 'LICENSES.txt'),
    licensesOf([...Object.keys(metafile.inputs), ...Object.keys(inputs)]),
  );
}

/** CommonJS packages load the modules of Node.js with `require`, which no ES module has. */
const requireBuiltins =
  "import{createRequire as $createRequire}from'node:module';const require=$createRequire(import.meta.url);";

/** Replaces the addresses of files beside the code, because a bundle is in another folder. An unknown one fails the build. */
function moveFiles({ onLoad, onResolve }: PluginBuild): void {
  onResolve({ filter: /\/requirement\.mjs$/ }, () => ({ path: join(top, requirement.package) }));
  onLoad({ filter: /\/(src|gateway|node-agent)\/.*\.(ts|mjs)$/ }, ({ path }) => {
    const file = path.slice(top.length);
    if (!/^(src|gateway|node-agent)\//.test(file)) return undefined;
    const text = readFileSync(path, 'utf8');
    if (!text.includes('import.meta.url')) return undefined;
    const contents = text
      // A `require` that esbuild sees is bundled.
      .replace(/^const require = createRequire\(import\.meta\.url\);$/m, '')
      .replaceAll(/new URL\('([^']+)', import\.meta\.url\)/g, (_, relative: string) => {
        const place =
          places[
            posix
              .join(posix.dirname(file), relative)
              .replace(/^\.?\/?$/, '')
              .replace(/\/$/, '')
          ];
        if (place === undefined)
          throw new Error(`${file} uses "${relative}": add it to deploy/release/bundle.ts`);
        return `new URL('${place}', import.meta.url)`;
      });
    return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' };
  });
}

/** Collects the licences of the packages whose code is in a bundle. */
function licensesOf(inputs: readonly string[]): string {
  const folders = inputs.map(path => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0]);
  const packages = [...new Set(folders.filter(folder => folder !== undefined))].sort();
  return packages.map(describeLicense).join('\n');
}

function describeLicense(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(top, folder, 'package.json'), 'utf8')) as {
    readonly [key in 'name' | 'version' | 'license']: string;
  };
  const files = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'LICENSE-MIT', 'license', 'License'];
  const file = files.map(one => join(top, folder, one)).find(existsSync);
  const text = file === undefined ? '' : readFileSync(file, 'utf8').trim();
  return `== ${name} ${version}: ${license}\n\n${text}\n`;
}
