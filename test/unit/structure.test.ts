import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, resolve } from 'node:path';
import { test } from 'node:test';
import { exec } from '../../src/lib/exec.ts';
import { circlesOf, filesLoadedBy, importsOf, type Import } from '../imports.ts';

/** The allowed imports of a folder: our folders, packages, and all of Node.js except `not`. */
type Rule = {
  readonly ours: readonly string[];
  readonly packages: readonly string[];
  readonly not: readonly string[];
};
const http = ['http', 'https', 'http2'];
const rules: Readonly<Record<string, Rule>> = {
  'src/lib': { ours: ['src/lib'], packages: ['package.json'], not: [...http, 'sqlite'] },
  'src/tracing': {
    ours: ['src/lib', 'src/tracing'],
    packages: ['@opentelemetry'],
    not: [...http, 'child_process', 'sqlite'],
  },
  'src/api': {
    ours: ['src/lib', 'src/tracing', 'src/api'],
    packages: ['zod', 'undici', 'jose'],
    not: ['child_process', 'sqlite'],
  },
  'src/csi': {
    ours: ['src/lib', 'src/tracing', 'src/api', 'src/csi'],
    packages: ['@grpc/grpc-js'],
    not: [...http, 'child_process', 'sqlite'],
  },
  'src/controller': {
    ours: ['src/lib', 'src/tracing', 'src/api', 'src/csi', 'src/controller'],
    packages: ['yaml'],
    not: ['child_process', 'sqlite'],
  },
  'src/cli': { ours: ['src/lib', 'src/api', 'src/cli'], packages: ['yaml', 'zod'], not: ['sqlite'] },
  'src/kit': {
    // It reads the volumes of an existing CSI driver through the driver's node plugin.
    ours: ['src/lib', 'src/api', 'src/csi', 'src/cli', 'src/kit'],
    packages: ['fast-check', 'zod'],
    not: ['sqlite'],
  },
  'src/sdk': {
    ours: ['src/lib', 'src/tracing', 'src/api', 'src/sdk', 'gateway', 'test/suites'],
    packages: ['hono', 'jose', 'zod'],
    not: ['http2', 'sqlite'],
  },
  // The only program that serves HTTP and speaks CSI: it stands between a gateway and a driver.
  'src/bridge': {
    ours: ['src/lib', 'src/api', 'src/csi', 'src/sdk', 'src/bridge'],
    packages: ['@hono/node-server'],
    not: [...http, 'child_process'],
  },
  'src/dev': {
    ours: ['src/lib', 'src/api', 'src/csi', 'src/controller', 'src/dev'],
    packages: ['yaml'],
    not: [...http, 'sqlite'],
  },
  'node-agent': {
    ours: ['src/lib', 'src/tracing', 'src/api', 'src/csi', 'node-agent'],
    packages: ['jose'],
    not: [...http, 'sqlite'],
  },
  // The pages run in browsers. Like the command line, they are a client of the gateway.
  'gateway/console/browser': {
    ours: ['src/lib', 'src/api', 'src/cli', 'gateway/console/browser'],
    packages: ['preact', 'preact/hooks', 'uplot'],
    not: builtinModules,
  },
  gateway: {
    ours: ['src/lib', 'src/tracing', 'src/api', 'gateway'],
    packages: ['hono', '@hono/node-server', 'jose', 'pg', 'cockatiel', 'yaml', 'zod'],
    not: ['http2'],
  },
};

/** Packages that would make the node agent large. */
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

/** The only file of `src/lib` that knows HTTP: it serves the pages of probes and metrics to all programs. */
const pages = 'src/lib/pages.ts';

/** The only file that knows all programs: it starts the one that was called. */
const launcher = 'src/cli/commands.ts';

const sources = globSync(['src/**/*.ts', 'gateway/**/*.{ts,tsx}', 'node-agent/**/*.ts']).filter(
  file => !file.includes('/generated/'),
);

type FileImport = Pick<Import, 'target' | 'isLate'> & { readonly file: string };
const allImports: readonly FileImport[] = sources.flatMap(file =>
  importsOf(file).map(({ target, isLate }) => ({ file, target, isLate })),
);

/** The nouns that folders are called by. A subfolder of a plural folder has a plug-in's name. */
const nouns = new Set(
  `src gateway node-agent
   lib linux tracing words api csi controller bridge kubernetes dev cli commands admin output kinds kit chapters fixtures model reports sdk server
   http callers scheduling volumes snapshots attachments sharing operations configuration pools tables entries observability local kernel targets devices
   backends exports stores connectors filesystems carriers schemas shares console browser pages parts actions
   format host pods state plugin drivers retirement deletion staging`.split(/\s+/),
);

/** Folders of files of one kind, such as plug-ins, commands or tables; each may hold any number of them. */
const plural = new Set([
  'gateway/backends',
  'gateway/exports',
  'gateway/stores',
  'gateway/entries',
  'gateway/tables',
  'src/cli/commands',
  'src/kit/chapters',
  'node-agent/connectors',
  'node-agent/filesystems',
]);
const maxFiles = 14;

/** Folders of similar files: sets of values, each beside the chart's manifests for it. */
const alike = new Set(['deploy/snapshots']);

test('a folder is named by a noun of the field', () => {
  const folders = new Set(sources.map(file => dirname(file)));
  const strangers = [...folders].filter(folder => {
    const parts = folder.split('/');
    return !parts.every((part, index) => nouns.has(part) || plural.has(parts.slice(0, index).join('/')));
  });
  assert.deepEqual(strangers, []);
});

test('a folder holds at most 14 files of different kinds', () => {
  const files = globSync('{src,gateway,node-agent,test,proto,docs,deploy,examples}/**/*.*', {
    exclude: ['**/generated/**', '**/node_modules/**', '**/dist/**', '**/*.d.ts'],
  });
  const counts = Map.groupBy(files, file => dirname(file));
  const full = [...counts].filter(
    ([folder, { length }]) =>
      !plural.has(folder) && !alike.has(folder) && !folder.startsWith('test/unit/') && length > maxFiles,
  );
  const faults = full.map(([folder, { length }]) => `${folder} holds ${length} files`);
  assert.deepEqual(faults, []);
});

test('helpers that several tiers use live outside of test/unit', () => {
  const files = globSync('{src,gateway,node-agent,test,deploy,docs,examples}/**/*.ts', {
    exclude: ['test/unit/**', '**/node_modules/**', '**/generated/**'],
  });
  const faults = files.filter(file => importsOf(file).some(({ target }) => target.startsWith('test/unit/')));
  assert.deepEqual(faults, []);
});

test('every folder imports only the modules that the design allows', () => {
  const faults = allImports.filter(({ file, target }) => {
    const rule = rules[Object.keys(rules).find(name => file.startsWith(`${name}/`)) ?? ''];
    return file !== launcher && !(rule && isAllowed(target, rule));
  });
  assert.deepEqual(
    faults.filter(({ file, target }) => file !== pages || target !== 'node:http'),
    [],
  );
});

/**
 * The files that may take the body of an HTTP message from its source: the reader, and the ones that pass it each piece of
 * an answer.
 */
const bodyReaders = new Set(['src/api/http/body.ts', 'src/api/http/fetch.ts', 'src/api/http/undici.ts']);
/** The reader of requests' bodies, with its own limit. */
const requestReader = 'gateway/http/read.ts';
const bodyReads = [
  /(?<!\.)\.(?:json|text|arrayBuffer|blob|bytes|formData)\(\)/,
  /\bgetReader\(|stream\/consumers/,
  /(?<![.\w]|async )fetch\((?!request[,)])/,
  /\b(?:createGunzip|createUnzip|gunzip|unzip|inflate|brotliDecompress|DecompressionStream)/,
  /\bfor await \(const \w+ of (?:\w+\.body|response|reply|answer|message)\b/,
];

test('one reader reads the body of an HTTP message, and limits it', () => {
  const faults = sources
    .filter(file => !bodyReaders.has(file) && file !== requestReader)
    .flatMap(file => {
      const text = readFileSync(file, 'utf8');
      return bodyReads.flatMap(read => (read.exec(text) ? `${file}: ${read.exec(text)?.[0]}` : []));
    });
  assert.deepEqual(faults, []);
});

test('files import zod as a namespace, because a bundle leaves out only the unused parts of a namespace', () => {
  const faults = sources.filter(file => /^import \{.*\} from 'zod'/m.test(readFileSync(file, 'utf8')));
  assert.deepEqual(faults, []);
});

test('what a function creates is not made, since filesystems alone are made', () => {
  const making = /\bfunction\*? make[A-Z]\w*|\bconst make[A-Z]\w*|^\s+(?:async )?make[A-Z]\w*\(.*\{$/m;
  const faults = sources.flatMap(
    file => making.exec(readFileSync(file, 'utf8'))?.map(at => `${file}: ${at}`) ?? [],
  );
  assert.deepEqual(faults, []);
});

test('a test waits for the end of a process that may have ended before', () => {
  // An `exit` event that is over never comes again, and the test would hang.
  const late = /await once\([\w.]+, 'exit'\)/;
  const tests = globSync('test/**/*.ts').filter(file => file !== 'test/harness/exit.ts');
  const faults = tests.filter(file => late.test(readFileSync(file, 'utf8')));
  assert.deepEqual(faults, []);
});

/** The writer of commands' output, which removes terminal controls from foreign text. */
const terminal = 'src/cli/output/terminal.ts';

test('the output of commands leaves by one exit', () => {
  const commandFiles = sources.filter(
    file => (file.startsWith('src/cli/') || file.startsWith('src/kit/')) && file !== terminal,
  );
  const faults = commandFiles.filter(file =>
    /process\.std(?:out|err)\.write|console\.(?!ts\b)/.test(readFileSync(file, 'utf8')),
  );
  assert.deepEqual(faults, []);
});

test('no imports form a circle, not even of types or of late imports', () => {
  const files = globSync('{src,gateway,node-agent,test,docs,deploy,proto,examples}/**/*.ts', {
    exclude: ['**/node_modules/**'],
  });
  assert.deepEqual(circlesOf(files.filter(file => !file.includes('/node_modules/'))), []);
});

/** Pairs of folders that import each other, each with its reason. */
const mutualPairs: Readonly<Record<string, string>> = {
  'node-agent/format ↔ node-agent/volumes':
    "a format is made on a volume's device, and an encrypted device is opened by its format",
};

test('two folders side by side import each other in one direction only', () => {
  const own = new Set(sources);
  const pairs = new Set(
    allImports
      .filter(({ target }) => own.has(target))
      .map(({ file, target }) => [dirname(file), dirname(target)] as const)
      .filter(([from, to]) => !`${from}/`.startsWith(`${to}/`) && !`${to}/`.startsWith(`${from}/`))
      .map(pair => pair.join(' ↔ ')),
  );
  const mutual = [...pairs].filter(pair => pairs.has(pair.split(' ↔ ').toReversed().join(' ↔ ')));
  const faults = mutual.filter(pair => pair.split(' ↔ ').toSorted().join(' ↔ ') === pair);
  assert.deepEqual(faults, Object.keys(mutualPairs));
});

test("the gateway's folders import only from lines below their own in docs/architecture.md", () => {
  const [, section = ''] = readFileSync('docs/architecture.md', 'utf8').split("## The gateway's folders\n");
  const [, ...lines] = section.split(/\n## /)[0]?.split(/^\d+\. /m) ?? [];
  const order = new Map(
    lines.flatMap((line, index) =>
      Array.from(line.matchAll(/`([\w-]+)(?:\/|\.ts)`/g), ([, name]) => [name, index]),
    ),
  );
  const placeOf = (path: string): number | undefined => order.get(/^gateway\/([\w-]+)/.exec(path)?.[1]);
  const files = sources.filter(file => file.startsWith('gateway/'));
  assert.deepEqual(
    files.filter(file => placeOf(file) === undefined),
    [],
    'docs/architecture.md gives no place to these files',
  );
  const upwards = allImports.filter(({ file, target }) => {
    const isInside = /^gateway\/[\w-]+/.exec(file)?.[0] === /^gateway\/[\w-]+/.exec(target)?.[0];
    const [from, to] = [placeOf(file), placeOf(target)];
    return from !== undefined && to !== undefined && !isInside && to <= from;
  });
  assert.deepEqual(upwards, []);
});

/**
 * The files that may use node:fs: the machine, the code for the agent's own descriptors, and a program that runs
 * commands.
 */
const fileUsers = new Set([
  'node-agent/host/linux.ts',
  'node-agent/host/opened.ts',
  'node-agent/connectors/cephfs/with-key.ts',
  'node-agent/plugin/observability.ts',
]);

test("only the machine can touch a volume's path in the node agent", () => {
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

test('only the choice of a carrier asks whether a volume is a device or a share', () => {
  const asks = /\bkind [!=]== '(device|share)'|accessType [!=]== |\.\.\.connectorFor/;
  const files = sources.filter(
    file => file.startsWith('node-agent/') && asks.test(readFileSync(file, 'utf8')),
  );
  assert.deepEqual(files, ['node-agent/volumes/carriers/index.ts']);
});

test('the node agent loads no large package', () => {
  const loaded = filesLoadedBy('node-agent/main.ts');
  const found = [...loaded].filter(target => tooThick.has(target));
  assert.deepEqual(found, []);
});

test('the node agent loads no package except grpc-js before it needs it', () => {
  const early = /^import (?!type )[^;]* from 'jose/m;
  const faults = sources.filter(
    file => file.startsWith('node-agent/') && early.test(readFileSync(file, 'utf8')),
  );
  assert.deepEqual(faults, []);
});

test('the node agent loads at its start no file that it imports late', () => {
  const own = allImports.filter(({ file }) => file.startsWith('node-agent/'));
  const late = new Set(own.filter(one => one.isLate).map(({ target }) => target));
  const early = [...filesLoadedBy('node-agent/main.ts', one => !one.isLate)];
  assert.deepEqual(
    early.filter(file => late.has(file)),
    [],
  );
});

test('no module that the node agent may load brings modules that Node.js loads late, such as fetch', async () => {
  const files = sources.filter(file => file.startsWith('node-agent/') && !file.endsWith('/link.ts'));
  const imports = files.map(file => `await import(${JSON.stringify(resolve(file))});`);
  const source = `${imports.join('')} console.log(process.moduleLoadList.filter(name => name.includes('undici')))`;
  const { stdout, stderr } = await exec(process.execPath, ['--input-type=module', '--eval', source], {
    timeoutMs: 60_000,
  });
  assert.equal(stdout, '[]\n', stderr);
});

test("the gateway's app loads only Node modules that other runtimes have, too", () => {
  const loaded = filesLoadedBy('gateway/http/app.ts');
  const found = [...loaded].filter(target => target.startsWith('node:'));
  assert.deepEqual(found, ['node:async_hooks']);
});

/** The Node.js modules of runtimes without processes that a configuration, its files and its pools need. */
const elsewhere = ['async_hooks', 'crypto', 'fs', 'fs/promises', 'module', 'path', 'url', 'util'];

/** The common part of the entries; each entry only adapts it to its runtime. */
const sharedByEntries = 'gateway/entries/serverless.ts';

test('the serverless entries load nothing that listens, spawns, or opens a device or a database file', () => {
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

/** The limit of lines in the code that vendors read first. */
const maxLines = { 'vendor-hono': 299, cinder: 900 };

test('the code that vendors read first is short', () => {
  for (const [example, max] of Object.entries(maxLines)) {
    const texts = globSync(`examples/${example}/*.ts`).map(file => readFileSync(file, 'utf8'));
    const lines = texts.flatMap(text => text.trimEnd().split('\n'));
    assert.ok(lines.length > 0 && lines.length <= max, `${example} has ${lines.length} lines`);
  }
});

test('no list is spread into Math.max or Math.min, which overflow the stack for long lists', () => {
  const found = globSync('{src,gateway,node-agent}/**/*.ts').filter(file =>
    /\bMath\.(?:max|min)\((?:[^()]|\([^()]*\))*\.\.\./.test(readFileSync(file, 'utf8')),
  );
  assert.deepEqual(found, [], 'use maxOf or minOf of src/lib/numbers.ts');
});

test('a document names only existing files', () => {
  const files = globSync('{src,gateway,node-agent,proto,test,docs,deploy}/**/*', {
    exclude: ['**/node_modules/**', '**/dist/**'],
  });
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
