import { execFileSync } from 'node:child_process';
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import packageJson from '../package.json' with { type: 'json' };

const usage = `Usage: npm run package [-- --out DIR]

Builds the npm package, with JavaScript and types, because Node.js runs no TypeScript below node_modules.

  --out DIR  directory for fairlead-VERSION.tgz; default: dist
`;

/** Names that are not packed: output of running the examples, and files that only a checkout uses. */
const excluded = new Set(['node_modules', '.data', 'data', '__pycache__', 'compile-cache.mjs']);

const { values } = parseArgs({
  options: { out: { type: 'string', default: 'dist' }, help: { type: 'boolean', default: false } },
});
const out = resolve(process.env['INIT_CWD'] ?? '.', values.out);
process.chdir(fileURLToPath(new URL('..', import.meta.url)));
if (values.help) process.stdout.write(usage);
else build();

function build(): void {
  const directory = join(out, 'package');
  rmSync(directory, { recursive: true, force: true });
  execFileSync(
    'node_modules/.bin/tsc',
    ['--project', 'deploy/tsconfig.package.json', '--outDir', directory],
    {
      stdio: 'inherit',
    },
  );
  for (const name of ['README.md', 'LICENSE', 'examples', ...globSync('src/**/*.{mjs,js,d.ts}')])
    cpSync(name, join(directory, name), { recursive: true, filter: path => !excluded.has(basename(path)) });
  for (const path of globSync(join(directory, '{src,gateway,node-agent}/**/*.{mjs,js}'))) {
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, namesJavaScript(text));
  }
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(manifest(), undefined, 2)}\n`);
  execFileSync('npm', ['pack', '--silent', '--pack-destination', out, directory], { stdio: 'inherit' });
}

/** Changes .ts to .js in the names of files that are loaded at run time; tsc changes only static imports. */
function namesJavaScript(text: string): string {
  return text.replace(/((?:new URL|import)\('[./\w-]+)\.ts'/g, "$1.js'");
}

/** Makes the package's manifest from the checkout's, with JavaScript and types in place of TypeScript. */
function manifest(): object {
  const { name, version, description, license, type, bin, engines } = packageJson;
  const { dependencies, optionalDependencies } = packageJson;
  const exported = Object.entries(packageJson.exports).map(([key, path]) => {
    const base = path.replace(/\.ts$/, '');
    return [key, { types: `${base}.d.ts`, default: `${base}.js` }];
  });
  const exports = Object.fromEntries(exported);
  const imports = JSON.parse(JSON.stringify(packageJson.imports).replaceAll('.ts"', '.js"')) as object;
  return {
    name,
    version,
    description,
    license,
    type,
    bin,
    exports,
    imports,
    dependencies,
    optionalDependencies,
    engines,
  };
}
