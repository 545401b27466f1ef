import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { referenceVendors, startVendor } from '../fakes/storages/reference.ts';
import { mounted } from '../harness/gateway.ts';
import { isFull, sample, seed } from '../harness/sample.ts';
import { runGateway, type RunningGateway } from '../harness/gateway/program.ts';

const release = 'schemathesis==4.32.5';
const home = join(import.meta.dirname, '../../node_modules/.cache/fairlead-schemathesis');

/** Accepted findings by code: a pattern of the operations, with the reason. */
const documented: Readonly<Record<string, RegExp>> = {
  // An unknown operation is NOT_FOUND for every method: docs/reference/errors.md has no 405.
  ST204: /^TRACE /,
  // Deleting an unknown id succeeds, even an id that no volume can have (CSI spec, "DeleteVolume"), and so does
  // detaching an unknown node.
  ST201:
    /^(DELETE \/v1\/(volumes|snapshots|groups|admin\/(volumes|snapshots|groups|nodes))\/|PUT \/v1\/admin\/((volumes|snapshots|groups)\/\{\w+\}\/deletion|nodes\/\{cluster\}\/\{nodeId\}\/detachment)$)/,
  // The API's document cannot describe each pool's parameters, or each volume's modes and sizes (416); a volume may come
  // from an earlier random request. Nor can the document list the existing clusters, or forbid sharing a volume with its
  // owner, or an order beside a filter.
  ST202:
    /^(POST \/v1\/capacity|GET \/v1\/admin\/volumes|(PUT|DELETE) \/v1\/(volumes|snapshots|groups)\/\{\w+\}\/(copy-)?grants\/.*|PUT \/v1\/volumes\/\{volumeId\}(\/size|\/parameters|\/attachments\/\{nodeId\})?|PUT \/v1\/admin\/(imports|volumes|snapshots|groups)\/.*|PUT \/v1\/admin\/clusters\/\{cluster\}\/retirement|DELETE \/v1\/admin\/(volumes|snapshots|groups)\/.*|Stateful tests)$/,
};

/** The accepted findings of vendors, which also have their own parameters of snapshots. */
const documentedOfVendors = {
  ...documented,
  // A full storage is RESOURCE_EXHAUSTED, which is 507.
  ST101: /^PUT \/v1\/volumes\/\{volumeId\}(\/size)?$/,
  ST202:
    /^PUT \/v1\/(volumes\/\{volumeId\}(\/size|\/parameters|\/attachments\/\{nodeId\})?|(snapshots|groups)\/\{\w+\})$/,
};

type Report = {
  readonly complete: boolean;
  readonly operations: { readonly selected: number; readonly tested: number; readonly errored: number };
  readonly failures: readonly { readonly code: string; readonly operations: readonly string[] }[];
};

/** The paths that only operators may use. */
const ofOperators = '^/v1/admin';

const missing = whyNotInstallable();
const skip = missing ?? false;

type Run = {
  readonly title: string;
  readonly skip?: string | false;
  readonly work: (t: TestContext) => Promise<void>;
};

const runs: readonly Run[] = [
  asCaller('a cluster', {
    caller: 'a',
    paths: { 'exclude-path-regex': ofOperators },
    usual: 'examples,coverage',
  }),
  // One minute longer found nothing beyond the fuzzer of the unit tests.
  asCaller('an operator', {
    caller: 'operators',
    paths: { 'include-path-regex': ofOperators },
    usual: 'examples',
  }),
  { title: 'in any order of calls that create, use and delete resources', work: inAnyOrder },
  ...referenceVendors.map(({ language, command, skip: withoutIt }) => ({
    title: `undocumented in the reference vendor in ${language}`,
    skip: withoutIt,
    work: (t: TestContext) => overVendor(t, command),
  })),
];

for (const { title, skip: why = false, work } of sample('runs', runs, 2))
  test(`schemathesis finds nothing ${title}`, { skip: skip || why }, work);

type Caller = {
  readonly caller: 'a' | 'operators';
  readonly paths: Readonly<Record<string, string>>;
  /** The phases without TEST_FULL. */
  readonly usual: string;
};

function asCaller(name: string, { caller, paths, usual }: Caller): Run {
  return {
    title: `undocumented as ${name}, with all its checks`,
    async work(t) {
      const gateway = await runGateway(t, { flags: { 'public-docs': 'true' } });
      const phases = isFull ? 'examples,coverage,fuzzing' : usual;
      const asked = await askedOf(gateway, caller);
      const { operations } = await assertNothingFound(asked, `${gateway.url}/openapi.json`, {
        phases,
        'max-examples': isFull ? '50' : '2',
        ...paths,
      });
      // The other phases test the operations without an example.
      assert.ok(phases === 'examples' ? operations.tested > 0 : operations.tested === operations.selected);
    },
  };
}

async function inAnyOrder(t: TestContext): Promise<void> {
  const gateway = await runGateway(t, { flags: { 'public-docs': 'true' } });
  const document = join(gateway.directory, 'linked.json');
  const served: unknown = await (await fetch(`${gateway.url}/openapi.json`)).json();
  writeFileSync(document, JSON.stringify(link(served as Document)));
  // By default it would start with empty lists only, because it takes POST for the method that creates, and not PUT.
  const settings = '[phases.stateful.inference]\nalgorithms = []\n';
  writeFileSync(join(gateway.directory, 'schemathesis.toml'), settings);
  const options = {
    phases: 'stateful',
    'exclude-path-regex': ofOperators,
    mode: 'positive',
    url: gateway.url,
    'max-examples': isFull ? '200' : '50',
  };
  const { stdout } = await assertNothingFound(await askedOf(gateway), document, options);
  const [found = '', covered] = /(\d+) covered \/ \d+ selected/.exec(stdout) ?? [];
  t.diagnostic(`links: ${found}`);
  assert.ok(Number(covered) > 0, stdout);
}

async function overVendor(t: TestContext, command: readonly string[]): Promise<void> {
  const { url, ...asked } = await startVendor(t, { command });
  const document = join(asked.directory, 'offered.json');
  writeFileSync(document, JSON.stringify(await offeredBy(url, asked.token)));
  const phases = isFull ? 'examples,coverage,fuzzing' : 'examples,coverage';
  const expecting = { ...asked, expected: documentedOfVendors };
  const options = { url, phases, 'max-examples': isFull ? '50' : '2' };
  const { operations, stdout } = await assertNothingFound(expecting, document, options);
  assert.equal(operations.tested, operations.selected);
  assert.doesNotMatch(stdout, /ST101 Server error\s+\[(?!507)/);
}

/**
 * Reduces the vendor's document to the operations that this one offers; the others answer 501, which would count as a
 * server error.
 */
async function offeredBy(url: string, token: string): Promise<object> {
  const headers = { authorization: `Bearer ${token}` };
  const { features } = await (await fetch(`${url}/v1/capabilities`, { headers })).json();
  const document = JSON.parse(
    readFileSync(join(import.meta.dirname, '../../docs/reference/vendor-openapi.json'), 'utf8'),
  );
  for (const [path, item] of Object.entries<Record<string, { 'x-feature'?: string }>>(document.paths)) {
    const isOffered = Object.values(item).every(
      row => row['x-feature'] === undefined || features.includes(row['x-feature']),
    );
    if (!isOffered) delete document.paths[path];
  }
  return document;
}

/** The directory of reports, and the findings that are expected. */
type RunOptions = {
  readonly directory: string;
  readonly token: string;
  readonly expected?: typeof documented;
};

async function askedOf(
  { directory, signers }: RunningGateway,
  caller: 'a' | 'operators' = 'a',
): Promise<RunOptions> {
  return { directory, token: await signers[caller].sign({ exp: Math.floor(Date.now() / 1_000) + 3_500 }) };
}

/** Runs schemathesis on a document and fails on findings that are not expected. */
async function assertNothingFound(
  { directory, token, expected = documented }: RunOptions,
  document: string,
  more: Readonly<Record<string, string>>,
): Promise<Report & { readonly stdout: string }> {
  const report = join(directory, 'report.json');
  // A caller that gives up is answered with 504, which would be a finding although it is documented.
  const headers = [`Authorization: Bearer ${token}`, 'X-Timeout-Ms: 60000'];
  const options = {
    seed: String(seed),
    warnings: 'off',
    report: 'json',
    'report-json-path': report,
    ...more,
  };
  const given = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
  const args = ['run', document, '--continue-on-failure', ...headers.map(one => `--header=${one}`), ...given];
  const ended = promisify(execFile)(join(home, 'bin/st'), args, { cwd: directory, maxBuffer: 2 ** 28 });
  // The exit status is 1 for accepted findings, too; the report decides.
  const { stdout } = await ended.catch((error: unknown) => error as { readonly stdout: string });
  assert.ok(existsSync(report), stdout);
  const written = JSON.parse(readFileSync(report, 'utf8')) as Report;
  const { complete, failures, operations } = written;
  assert.ok(complete && operations.errored === 0, stdout);
  const found = failures.flatMap(({ code, operations: where }) =>
    where.filter(one => !expected[code]?.test(one)).map(one => `${code} ${one}`),
  );
  assert.deepEqual(found, [], stdout);
  return { ...written, stdout };
}

type Operation = {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, { links?: object }>>;
};
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Record<string, object> };
};

/** The bodies of calls, by schema: the calls on the same few resources follow one another in any order. */
const bodies: Readonly<Record<string, readonly object[]>> = {
  VolumeSpec: [
    { name: 'x', capabilities: [mounted] },
    { name: 'x', capabilities: [mounted], source: { kind: 'snapshot', snapshotId: 'a.x' } },
  ],
  AttachmentSpec: [{ capability: mounted, readonly: false }],
  SnapshotSpec: [{ name: 'x', volumeId: 'a.x' }],
  GroupSpec: [{ name: 'x', volumeIds: ['a.x'] }],
  NodeSpec: [{}],
  SizeSpec: [{ requiredBytes: 2 ** 21 }],
  ParametersSpec: [{ mutableParameters: {} }],
};

/** Restricts the document to few ids, and links each creation to every operation on the same ids. */
function link(document: Document): Document {
  const { paths, components } = document;
  const all = Object.entries(paths).flatMap(([path, { parameters, ...item }]) => {
    const ids = (parameters ?? []) as { readonly name: string; schema: object }[];
    for (const id of ids) id.schema = { enum: id.name === 'nodeId' ? ['n1'] : ['a.x', 'a.y'] };
    return Object.values(item).map(operation => ({ path, operation, ids: ids.map(({ name }) => name) }));
  });
  for (const { operation, ids } of all.filter(one => '201' in one.operation.responses)) {
    const links = all
      .filter(other => other.operation !== operation && other.ids.some(id => ids.includes(id)))
      .map(({ operation: { operationId }, ids: theirs }) => {
        const shared = theirs.filter(id => ids.includes(id)).map(id => [id, `$request.path.${id}`]);
        return [operationId, { operationId, parameters: Object.fromEntries(shared) as object }];
      });
    for (const status of ['200', '201'])
      Object.assign(operation.responses[status] ?? {}, { links: Object.fromEntries(links) as object });
  }
  for (const [name, few] of Object.entries(bodies)) components.schemas[name] = { enum: few };
  return document;
}

/** Returns the reason why it cannot run, in one line; installs it once, into a directory of its own. */
function whyNotInstallable(): string | undefined {
  const pip = join(home, 'bin/pip');
  if (run(pip, 'show', 'schemathesis').stdout?.includes(`Version: ${release.split('==')[1]}\n`))
    return undefined;
  if (run('python3', '-m', 'venv', home).status !== 0) return 'this needs Python with venv';
  const { status, stderr } = run(pip, 'install', '--quiet', release);
  return status === 0
    ? undefined
    : `this needs ${release}, which cannot be had: ${stderr.trim().split('\n').at(-1)}`;
}

function run(command: string, ...args: readonly string[]) {
  return spawnSync(command, args, { encoding: 'utf8' });
}
