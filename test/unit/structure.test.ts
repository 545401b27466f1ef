import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, resolve } from 'node:path';
import { test } from 'node:test';
import { exec } from '../../src/lib/exec.ts';
import { circlesOf, filesLoadedBy, importsOf } from '../imports.ts';

/** What a folder may import: folders of ours, packages, and of Node.js all but what is `not` for it. */
type Rule = {
  readonly ours: readonly string[];
  readonly packages: readonly string[];
  readonly not: readonly string[];
};
const http = ['http', 'https', 'http2'];
const rules: Readonly<Record<string, Rule>> = {
  'src/lib': { ours: ['src/lib'], packages: ['package.json', '@opentelemetry'], not: [...http, 'sqlite'] },
  'src/api': { ours: ['src/lib', 'src/api'], packages: ['zod', 'undici'], not: ['child_process', 'sqlite'] },
  'src/csi': {
    ours: ['src/lib', 'src/api', 'src/csi'],
    packages: ['@grpc/grpc-js'],
    not: [...http, 'child_process', 'sqlite'],
  },
  'src/controller': {
    ours: ['src/lib', 'src/api', 'src/csi', 'src/controller'],
    packages: ['yaml'],
    not: ['child_process', 'sqlite'],
  },
  'src/cli': {
    ours: ['src/lib', 'src/api', 'src/cli'],
    packages: ['fast-check', 'yaml', 'zod'],
    not: ['sqlite'],
  },
  'src/dev': {
    ours: ['src/lib', 'src/api', 'src/csi', 'src/controller', 'src/dev'],
    packages: ['yaml'],
    not: [...http, 'sqlite'],
  },
  'node-agent': {
    ours: ['src/lib', 'src/api', 'src/csi', 'node-agent'],
    packages: ['jose'],
    not: [...http, 'sqlite'],
  },
  gateway: {
    ours: ['src/lib', 'src/api', 'gateway'],
    packages: ['hono', '@hono/node-server', 'jose', 'pg', 'cockatiel', 'ajv', 'yaml', 'zod'],
    not: ['http2'],
  },
};

/** Packages that would make the node agent thick. */
const tooThick = new Set([
  'zod',
  'undici',
  'hono',
  '@hono/node-server',
  'jose',
  'yaml',
  'pg',
  '@opentelemetry/api',
]);

/** Serves the pages of probes and metrics to all programs, and is the one file of `src/lib` that knows HTTP. */
const pages = 'src/lib/pages.ts';

/** Starts the program that is asked for, and is the one file that knows them all. */
const launcher = 'src/cli/commands.ts';

const sources = globSync(['src/**/*.ts', 'gateway/**/*.ts', 'node-agent/**/*.ts']).filter(
  file => !file.includes('/generated/'),
);

type FileImport = { readonly file: string; readonly target: string };
const allImports: readonly FileImport[] = sources.flatMap(file =>
  importsOf(file).map(({ target }) => ({ file, target })),
);

/** The nouns by which folders are called. A folder below one whose files are plug-ins bears a plug-in's name. */
const nouns = new Set(
  `src gateway node-agent
   lib linux tracing api csi controller kubernetes dev cli output verify requirements checks kit model reports
   http vendor volumes snapshots attachments operations tenancy configuration pools admin tables entries observability
   backends exports stores connectors filesystems carriers schemas shares
   format host state plugin`.split(/\s+/),
);

/** Folders whose files all implement one contract, so that there may be any number of them. */
const plural = new Set([
  'gateway/backends',
  'gateway/exports',
  'gateway/stores',
  'gateway/entries',
  'node-agent/connectors',
  'node-agent/filesystems',
]);
const mostFiles = 14;

/** Folders of files that are all alike: sets of values, each beside the manifests that the chart makes of it. */
const alike = new Set(['deploy/snapshots']);

test('a folder is called by a noun of the field', () => {
  const folders = new Set(sources.map(file => dirname(file)));
  const strangers = [...folders].filter(folder => {
    const parts = folder.split('/');
    return !parts.every((part, index) => nouns.has(part) || plural.has(parts.slice(0, index).join('/')));
  });
  assert.deepEqual(strangers, []);
});

test('a folder holds few files, unless all of them implement one contract', () => {
  const files = globSync('{src,gateway,node-agent,test,proto,docs,deploy,examples}/**/*.*', {
    exclude: ['**/generated/**', '**/node_modules/**', '**/*.d.ts'],
  });
  const counts = Map.groupBy(files, file => dirname(file));
  const full = [...counts].filter(
    ([folder, { length }]) => !plural.has(folder) && !alike.has(folder) && length > mostFiles,
  );
  const faults = full.map(([folder, { length }]) => `${folder} holds ${length} files`);
  assert.deepEqual(faults, []);
});

test('every folder imports only what the design allows', () => {
  const faults = allImports.filter(({ file, target }) => {
    const rule = rules[Object.keys(rules).find(name => file.startsWith(`${name}/`)) ?? ''];
    return file !== launcher && !(rule && isAllowed(target, rule));
  });
  assert.deepEqual(
    faults.filter(({ file, target }) => file !== pages || target !== 'node:http'),
    [],
  );
});

test('no import goes in a circle, not one of types alone or a late one', () => {
  const files = globSync('{src,gateway,node-agent,test,docs,deploy,proto,examples}/**/*.ts');
  assert.deepEqual(circlesOf(files.filter(file => !file.includes('/node_modules/'))), []);
});

/** Who may touch files by itself: the machine, what touches only the agent's own descriptors, and a program that runs commands. */
const fileUsers = new Set([
  'node-agent/host/linux.ts',
  'node-agent/host/opened.ts',
  'node-agent/connectors/cephfs/with-key.ts',
  'node-agent/plugin/observability.ts',
]);

test('nobody in the node agent but the machine can touch a path of a volume', () => {
  const faults = allImports.filter(
    ({ file, target }) =>
      file.startsWith('node-agent/') &&
      !fileUsers.has(file) &&
      /^(node:)?(fs|child_process)(\/|$)/.test(target),
  );
  assert.deepEqual(faults, []);
  const late = /getBuiltinModule\('node:(?!http')/;
  const around = sources.filter(
    file => file.startsWith('node-agent/') && late.test(readFileSync(file, 'utf8')),
  );
  assert.deepEqual(around, []);
});

test('whether a volume is a device or a share is asked where its carrier is chosen, and nowhere else', () => {
  const asks = /\bkind [!=]== '(device|share)'|accessType [!=]== |\.\.\.connectorFor/;
  const files = sources.filter(
    file => file.startsWith('node-agent/') && asks.test(readFileSync(file, 'utf8')),
  );
  assert.deepEqual(files, ['node-agent/volumes/carriers/index.ts']);
});

test('what the node agent loads holds no thick package', () => {
  const loaded = filesLoadedBy('node-agent/main.ts');
  const found = [...loaded].filter(target => tooThick.has(target));
  assert.deepEqual(found, []);
});

test('the node agent loads no package but grpc-js before it needs it', () => {
  const early = /^import (?!type )[^;]* from 'jose/m;
  const faults = sources.filter(
    file => file.startsWith('node-agent/') && early.test(readFileSync(file, 'utf8')),
  );
  assert.deepEqual(faults, []);
});

test('nothing that the node agent may ever load brings what Node.js loads late, such as fetch', async () => {
  const files = sources.filter(file => file.startsWith('node-agent/') && !file.endsWith('/link.ts'));
  const imports = files.map(file => `await import(${JSON.stringify(resolve(file))});`);
  const source = `${imports.join('')} console.log(process.moduleLoadList.filter(name => name.includes('undici')))`;
  const { stdout, stderr } = await exec(process.execPath, ['--input-type=module', '--eval', source], {
    timeoutMs: 60_000,
  });
  assert.equal(stdout, '[]\n', stderr);
});

test("the gateway's app loads nothing of Node but what other runtimes have, too", () => {
  const loaded = filesLoadedBy('gateway/http/app.ts');
  const found = [...loaded].filter(target => target.startsWith('node:'));
  assert.deepEqual(found, ['node:async_hooks']);
});

/** What runtimes without a process have of Node.js, and a configuration, its files and its pools need. */
const elsewhere = ['async_hooks', 'crypto', 'fs', 'fs/promises', 'module', 'path', 'url', 'util'];

/** What the entries have in common: each of them only fits it to its runtime. */
const sharedByEntries = 'gateway/entries/serverless.ts';

test('the serverless entries load nothing that listens, spawns, opens a device or a database of a file', () => {
  for (const entry of globSync('gateway/entries/*.ts')) {
    const lines = readFileSync(entry, 'utf8').trimEnd().split('\n').length;
    assert.ok(lines <= 40 || entry === sharedByEntries, `${entry} has ${lines} lines`);
    const loaded = [...filesLoadedBy(entry)].filter(target => target.startsWith('node:'));
    assert.deepEqual(
      loaded.sort(),
      elsewhere.map(name => `node:${name}`),
      entry,
    );
  }
});

/** Most lines of what vendors read first. */
const mostLines = { 'vendor-hono': 299 };

test('what vendors read first is short', () => {
  for (const [example, most] of Object.entries(mostLines)) {
    const texts = globSync(`examples/${example}/*.ts`).map(file => readFileSync(file, 'utf8'));
    const lines = texts.flatMap(text => text.trimEnd().split('\n'));
    assert.ok(lines.length > 0 && lines.length <= most, `${example} has ${lines.length} lines`);
  }
});

test('a document names only files that there are', () => {
  const files = globSync('{src,gateway,node-agent,proto,test,docs,deploy}/**/*');
  for (const document of ['AGENTS.md', 'README.md', ...globSync('docs/{*,reference/*}.md')]) {
    const named = readFileSync(document, 'utf8').matchAll(/`([\w./-]+\.(?:ts|mjs|proto|sh|md))`/g);
    for (const [, name = ''] of named)
      assert.ok(
        name.includes('NAME') || files.some(file => `/${file}`.endsWith(`/${name}`)),
        `${document}: ${name}`,
      );
  }
});

function isAllowed(target: string, rule: Rule): boolean {
  if (target.startsWith('node:') || builtinModules.includes(target))
    return !rule.not.includes(target.replace(/^node:/, ''));
  const ours = /^(src|gateway|node-agent|proto|test|deploy)\//.test(target);
  if (ours) return rule.ours.some(folder => target.startsWith(`${folder}/`));
  return rule.packages.some(name => target === name || target.startsWith(`${name}/`));
}
