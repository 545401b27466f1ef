import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { choice, text } from '../lib/parsers.ts';
import type { SettingsOf } from '../lib/settings.ts';
import { version } from '../lib/version.ts';

const vendorSettings = {
  dir: {
    doc: 'the directory of the project, which may stand without its flag: missing or empty',
    parse: (value: string) => resolve(text(value)),
  },
  lang: {
    doc: 'what it is written in: typescript or python',
    parse: choice('typescript', 'python'),
    default: 'typescript',
  },
} as const;

/** What can be begun, by its name. */
export const initCommands = {
  vendor: {
    doc: "a storage vendor's server that runs, with the conformance kit as its test",
    settings: vendorSettings,
    operands: ['dir'],
    run: writeVendor,
  },
} as const;

/** The checkout, or the package as it is installed. */
const home = fileURLToPath(new URL('../..', import.meta.url));
const templates = { typescript: 'vendor-hono', python: 'vendor-python' };
/** What running the example leaves in its directory. */
const leftOut = new Set(['node_modules', 'project.json', '.data', 'data', '__pycache__']);

/**
 * The project is the example itself, with a name of its own and the Fairlead that wrote it. In the checkout it is a part of
 * Fairlead, so that its manifest is called `project.json` there.
 */
async function writeVendor({ dir, lang }: SettingsOf<typeof vendorSettings>): Promise<void> {
  await requireEmpty(dir);
  const example = join(home, 'examples', templates[lang]);
  await cp(example, dir, { recursive: true, filter: path => !leftOut.has(basename(path)) });
  // npm takes a file of this name out of a package.
  await writeFile(join(dir, '.gitignore'), 'node_modules/\n__pycache__/\n.data/\ndata/\n');
  const manifest = JSON.parse(await readFile(join(example, 'project.json'), 'utf8')) as Manifest;
  const name = basename(dir)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-');
  const fairlead = home.includes('/node_modules/') ? version : `file:${home.replace(/\/$/, '')}`;
  const own = { ...manifest, name, dependencies: { ...manifest.dependencies, fairlead } };
  await writeFile(join(dir, 'package.json'), `${JSON.stringify(own, undefined, 2)}\n`);
  process.stdout.write(`wrote ${dir}; next: cd ${dir} && npm install && npm test\n`);
}

type Manifest = { readonly dependencies: Readonly<Record<string, string>> };

async function requireEmpty(dir: string): Promise<void> {
  const found = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  if (found.length > 0) throw new Error(`"${dir}" is not empty`);
}
