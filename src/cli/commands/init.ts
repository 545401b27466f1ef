import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { choice, localPath } from '../../lib/parsers.ts';
import type { SettingsOf } from '../../lib/settings.ts';
import { version } from '../../lib/version.ts';
import { stdout } from '../output/terminal.ts';

const cinderSettings = {
  dir: {
    doc: 'directory for the project; it must be empty or missing',
    parse: localPath,
  },
} as const;
const vendorSettings = {
  ...cinderSettings,
  lang: {
    doc: 'language of the project: typescript, python or go',
    parse: choice('typescript', 'python', 'go'),
    default: 'typescript',
  },
} as const;

/** The kinds of project, by name. */
export const initCommands = {
  vendor: {
    doc: "creates a storage vendor's server that runs, with the conformance kit as its test",
    settings: vendorSettings,
    operands: ['dir'],
    run: ({ dir, lang }: SettingsOf<typeof vendorSettings>) => writeProject(dir, templates[lang]),
  },
  cinder: {
    doc: 'creates the server that makes OpenStack Cinder a pool, with the conformance kit as its test',
    settings: cinderSettings,
    operands: ['dir'],
    run: ({ dir }: SettingsOf<typeof cinderSettings>) => writeProject(dir, 'cinder'),
  },
} as const;

/** The root of the checkout or of the installed package. */
const home = fileURLToPath(new URL('../../..', import.meta.url));
const templates = { typescript: 'vendor-hono', python: 'vendor-python', go: 'vendor-go' };
/** Files that are not copied: the manifest, which is written anew, and the output of running the example. */
const notCopied = new Set(['node_modules', 'project.json', '.data', '.build', 'data', '__pycache__']);

/**
 * Copies the example, and gives it a name and this version of Fairlead. In the checkout the example's manifest is called
 * `project.json`, so that the example belongs to Fairlead's own package there.
 */
async function writeProject(dir: string, template: string): Promise<void> {
  await requireEmpty(dir);
  const example = join(home, 'examples', template);
  await cp(example, dir, { recursive: true, filter: path => !notCopied.has(basename(path)) });
  // Written here because npm leaves .gitignore files out of packages.
  await writeFile(join(dir, '.gitignore'), 'node_modules/\n__pycache__/\n.build/\n.data/\ndata/\n');
  const manifest = JSON.parse(await readFile(join(example, 'project.json'), 'utf8')) as Manifest;
  const name = basename(dir)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, '-');
  // The version alone, because a path would exist on this machine only.
  const own = { ...manifest, name, dependencies: { ...manifest.dependencies, fairlead: version } };
  await writeFile(join(dir, 'package.json'), `${JSON.stringify(own, undefined, 2)}\n`);
  const file = `fairlead-${version}.tgz`;
  stdout.write(`wrote ${dir}; next: cd ${dir} && npm install && npm test
if npm does not find fairlead@${version}, copy ${file} of the release there and run npm install ./${file}
`);
}

type Manifest = { readonly dependencies: Readonly<Record<string, string>> };

async function requireEmpty(dir: string): Promise<void> {
  const found = await readdir(dir).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw error;
  });
  if (found.length > 0) throw new Error(`"${dir}" is not empty: choose another directory`);
}
