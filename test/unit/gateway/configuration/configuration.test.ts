import assert from 'node:assert/strict';
import { mkdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openMemory } from '../../../../gateway/backends/memory.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import {
  openConfiguration,
  type ServedConfiguration,
} from '../../../../gateway/configuration/configuration.ts';
import type { Plugins } from '../../../../gateway/configuration/file.ts';
import { createMemoryLog, createSigner, temporaryDirectory } from '../../../harness/gateway-harness.ts';

const [a, other] = [await createSigner('a'), await createSigner('other')];
const memory = { backend: 'memory' };

test('a key file or a cluster that changes takes effect, and unchanged files are the same enrolment', async t => {
  const { served, write, kids } = await open(t);
  const first = served.enrolment();
  await served.readAgain();
  assert.equal(served.enrolment(), first);
  write('a.jwks.json', { keys: [a.publicJwk, other.publicJwk] });
  await served.readAgain();
  assert.deepEqual(kids(), [a.kid, other.kid]);
  write('gateway.yaml', { pools: { one: memory } });
  await served.readAgain();
  assert.deepEqual(kids(), []);
});

test('a bad file, or one that is missing, is reported once, all stays as it was, and it is read when it is well again', async t => {
  const { served, write, kids, errors, directory } = await open(t);
  rmSync(join(directory, 'a.jwks.json'));
  for (let look = 0; look < 3; look++) await served.readAgain();
  assert.deepEqual(kids(), [a.kid]);
  assert.equal(errors().length, 1);
  write('gateway.yaml', { pools: { one: memory, two: memory } });
  await served.readAgain();
  assert.deepEqual([kids(), errors().length, poolNames(served)], [[], 1, ['one', 'two']]);
  write('gateway.yaml', 'pools: [');
  await served.readAgain();
  assert.deepEqual([poolNames(served), errors().length], [['one', 'two'], 2]);
});

test('a new pool is opened, with its topology; one that was removed or changed stays, and that is reported', async t => {
  const { served, write, lines } = await open(t, { one: memory, two: memory });
  const topology = { zone: 'a' };
  const two = served.pools.get('two').backend;
  write('gateway.yaml', { pools: { one: { ...memory, topology }, three: { ...memory, topology } } });
  await served.readAgain();
  assert.deepEqual(poolNames(served), ['one', 'two', 'three']);
  assert.equal(served.pools.get('two').backend, two);
  const offered = served.pools.offered().map(({ name }) => name);
  assert.deepEqual(offered, ['one', 'three'], 'what was removed takes nothing new');
  const topologies = ['one', 'three'].map(name => served.pools.get(name).backend.topologies);
  assert.deepEqual(topologies, [undefined, [topology]]);
  const warnings = lines.filter(line => line.startsWith('warn'));
  assert.match(warnings.join('\n'), /pools\.one: its settings have changed[^]*pools\.two: it was removed/);
});

test('a new pool that cannot be opened leaves all as it was, and is opened once it can be', async t => {
  const { served, write, kids, errors, directory } = await open(t);
  const late = { backend: 'dir', dir: join(directory, 'late') };
  write('gateway.yaml', { pools: { one: memory, late }, clusters: {} });
  await served.readAgain();
  assert.deepEqual([kids(), poolNames(served), errors().length], [[a.kid], ['one'], 1]);
  mkdirSync(late.dir);
  await served.readAgain();
  assert.deepEqual([kids(), poolNames(served)], [[], ['one', 'late']]);
});

test('pools that cannot be opened are reported together, and those that could are closed', async t => {
  let closed = 0;
  const close = async (): Promise<void> => void closed++;
  const openMine = async () => ({ ...openMemory({ capacity: 1 }), close });
  const plugins: Plugins = { ...backends, memory: { ...backends.memory, open: openMine } };
  const missing = { backend: 'image', dir: '/no/such/directory' };
  const opening = open(t, { one: memory, two: missing, three: missing }, plugins);
  await assert.rejects(opening, ({ errors: [two, three, ...others] }: AggregateError) => {
    assert.match(String(two), /^Error: pools\.two: cannot use the image directory/);
    assert.match(String(three), /^Error: pools\.three: cannot use the image directory/);
    return others.length === 0;
  });
  assert.equal(closed, 1);
});

function poolNames({ pools }: ServedConfiguration): readonly string[] {
  return pools.all().map(({ name }) => name);
}

type Opened = {
  readonly directory: string;
  readonly served: ServedConfiguration;
  readonly lines: readonly string[];
  readonly errors: () => readonly string[];
  readonly kids: () => readonly string[];
  readonly write: (file: string, content: unknown) => void;
};

/** A configuration with these pools and one cluster that ends with the test. */
async function open(
  t: TestContext,
  pools: object = { one: memory },
  plugins = backends as Plugins,
): Promise<Opened> {
  const directory = temporaryDirectory(t);
  const { log, lines } = createMemoryLog();
  let writes = 0;
  const write = (file: string, content: unknown): void => {
    const path = join(directory, file);
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    // Each write shows in the time of change, however coarse the clock of the filesystem is.
    utimesSync(path, new Date(), new Date(Date.now() + ++writes * 1_000));
  };
  write('a.jwks.json', { keys: [a.publicJwk] });
  write('gateway.yaml', { pools, clusters: { a: { keys: 'a.jwks.json' } } });
  const served = await openConfiguration(join(directory, 'gateway.yaml'), { plugins, log });
  t.after(() => served.close());
  return {
    directory,
    served,
    lines,
    write,
    errors: () => lines.filter(line => line.startsWith('error')),
    kids: () => [...served.enrolment().owners.keys()],
  };
}
