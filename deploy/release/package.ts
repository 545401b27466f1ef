import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { manPages } from '../../docs/generate/man.ts';
import { announceSteps } from '../steps.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { bundle } from './bundle.ts';
import { minNode } from './requirement.ts';

const usage = `Usage: npm run package [-- --out DIR]

Builds the npm package: the command line, the programs and the libraries, as one bundle of JavaScript with types.

  --out DIR  directory for fairlead-VERSION.tgz; default: dist
`;

/** Names that are not packed: output of running the examples. */
const excluded = new Set(['node_modules', '.data', '.build', 'data', '__pycache__']);

/** The libraries for others, by the names that they are imported by. */
const libraries = {
  backend: 'src/sdk/backend',
  testing: 'src/sdk/testing',
  vendor: 'src/sdk/server/vendor',
};

/** Builds the npm package below `out`, and returns the directory of its files, which stays. */
export async function buildPackage(out: string): Promise<string> {
  const directory = join(out, 'package');
  rmSync(directory, { recursive: true, force: true });
  const announce = announceSteps(3);
  announce('the bundle of JavaScript');
  await bundle(join(directory, 'lib'));
  const types = ['--project', 'deploy/release/tsconfig.json', '--outDir', join(directory, 'types')];
  announce('the types');
  execFileSync(process.execPath, ['node_modules/.bin/tsc', ...types], { stdio: 'inherit' });
  for (const path of globSync(join(directory, 'types/**/*.d.ts')))
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replaceAll(/(from '\.[^']*|import\("\.[^"]*)\.ts(['"])/g, '$1.js$2'),
    );
  for (const name of ['LICENSE', 'CHANGELOG.md', 'examples'])
    cpSync(name, join(directory, name), { recursive: true, filter: path => !excluded.has(basename(path)) });
  cpSync('deploy/release/npm.md', join(directory, 'README.md'));
  for (const path of globSync(join(directory, '{*,examples/**/*}.md'))) dropDeadLinks(path);
  announce('the npm package');
  const pages = await manPages();
  mkdirSync(join(directory, 'man'));
  for (const [name, text] of pages) writeFileSync(join(directory, 'man', name), text);
  const man = [...pages.keys()].map(name => `./man/${name}`);
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify({ ...manifest(), man }, undefined, 2)}\n`);
  execFileSync('npm', ['pack', '--silent', '--pack-destination', out, directory], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return directory;
}

/** Makes plain text of the links to pages that the package does not contain. */
function dropDeadLinks(path: string): void {
  const isThere = (target: string): boolean => existsSync(join(dirname(path), target));
  const text = readFileSync(path, 'utf8').replaceAll(
    /\[([^\]]+)\]\(([^):#]+)(?:#[^)]*)?\)/g,
    (link, label, target) => (isThere(String(target)) ? link : String(label)),
  );
  writeFileSync(path, text);
}

/** Makes the package's manifest from the checkout's. Only types need other packages: all code is in the bundle. */
function manifest(): object {
  const { name, version, description, license, type, dependencies } = packageJson;
  const exports = Object.entries(libraries).map(([key, path]) => [
    `./${key}`,
    { types: `./types/${path}.d.ts`, default: `./lib/${key}.js` },
  ]);
  return {
    name,
    version,
    description,
    license,
    type,
    bin: { fairlead: 'lib/fairlead.mjs' },
    exports: { ...Object.fromEntries(exports), './lambda': './lib/lambda.js' },
    dependencies: { hono: dependencies.hono, zod: dependencies.zod },
    engines: { node: `>=${minNode.commands}` },
  };
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { out: { type: 'string', default: 'dist' }, help: { type: 'boolean', default: false } },
  });
  const out = resolve(process.env['INIT_CWD'] ?? '.', values.out);
  process.chdir(fileURLToPath(new URL('../..', import.meta.url)));
  if (values.help) process.stdout.write(usage);
  else await buildPackage(out);
}
