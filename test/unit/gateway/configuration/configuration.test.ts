import assert from 'node:assert/strict';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openMemory } from '../../../../gateway/backends/memory.ts';
import { backends } from '../../../../gateway/backends/index.ts';
import {
  openConfiguration,
  type ServedConfiguration,
} from '../../../../gateway/configuration/configuration.ts';
import type { Plugins } from '../../../../gateway/pools/plugins.ts';
import { defaultBounds } from '../../../../gateway/scheduling/limit.ts';
import { createMemoryLog, temporaryDirectory } from '../../../harness/gateway.ts';
import { createSigner } from '../../../harness/gateway/signers.ts';

const [a, other] = [await createSigner('a'), await createSigner('other')];
const memory = { backend: 'memory' };

test('a changed key file or cluster takes effect, and unchanged files give the same enrolment', async t => {
  const { served, write, kids } = await open(t);
  const first = served.enrolment();
  await served.readAgain();
  assert.equal(served.enrolment(), first);
  write('a.jwks.json', { keys: [a.publicJwk, other.publicJwk] });
  await served.readAgain();
  assert.deepEqual(kids(), [a.kid, other.kid]);
  write('gateway.yaml', {
    pools: { one: memory },
    clusters: { a: { ...clusters.a, quota: { bytes: '1Gi' }, sharesFrom: ['b'] } },
  });
  await served.readAgain();
  assert.partialDeepStrictEqual(served.enrolment().owners.get(a.kid)?.caller, {
    cluster: { quota: { bytes: 2 ** 30 }, sharesFrom: ['b'] },
  });
  assert.deepEqual(served.clusters()['a']?.sharesFrom, ['b']);
  write('gateway.yaml', { pools: { one: memory } });
  await served.readAgain();
  assert.deepEqual(kids(), []);
});

test('a broken file is reported once, its last content stays in force, and it is read again once repaired', async t => {
  const { served, write, kids, errors } = await open(t);
  write('gateway.yaml', 'pools: [');
  for (let look = 0; look < 3; look++) await served.readAgain();
  assert.deepEqual([kids(), poolNames(served), errors().length], [[a.kid], ['one'], 1]);
  write('a.jwks.json', { keys: [] });
  await served.readAgain();
  assert.deepEqual(kids(), [], 'a key is removed while the file is bad');
  write('gateway.yaml', { pools: { one: memory, two: memory } });
  await served.readAgain();
  assert.deepEqual([poolNames(served), errors().length], [['one', 'two'], 1]);
});

const clusters = { a: { keys: 'a.jwks.json' }, b: { keys: 'b.jwks.json' } };
const clash = { keys: [{ ...other.publicJwk, kid: a.kid }] };
const faulty: readonly (readonly [name: string, content: unknown])[] = [
  ['is no JSON', '{'],
  ['holds a private key', { keys: [other.privateJwk] }],
  ["claims a's key id", clash],
  [
    'holds a key of small order',
    { keys: [{ kty: 'OKP', crv: 'Ed25519', kid: 'mine', x: `AQ${'A'.repeat(41)}` }] },
  ],
  [
    'holds a P-256 key that is not on the curve',
    { keys: [{ kty: 'EC', crv: 'P-256', kid: 'mine', x: 'AQ', y: 'AQ' }] },
  ],
  ["holds a's key under another id", { keys: [{ ...a.publicJwk, kid: 'mine' }] }],
];
for (const [name, content] of faulty)
  test(`a key file that ${name} affects only its own cluster, after a change and at a start`, async t => {
    const { served, write, kids, errors, directory } = await open(t, { one: memory }, { callers: clusters });
    write('b.jwks.json', { keys: [other.publicJwk] });
    await served.readAgain();
    assert.deepEqual([kids(), errors().length], [[a.kid, other.kid], 1], 'it was missing at first');
    write('b.jwks.json', content);
    for (let look = 0; look < 3; look++) await served.readAgain();
    assert.deepEqual([kids(), errors().length], [[a.kid], 2]);
    assert.deepEqual(served.enrolment().owners.get(a.kid)?.issuer, 'a');
    assert.deepEqual(
      served.keyFaults().map(({ cluster }) => cluster),
      ['b'],
    );
    const { log } = createMemoryLog();
    const again = await openConfiguration(join(directory, 'gateway.yaml'), { plugins: backends, log });
    t.after(() => again.close());
    assert.deepEqual(
      [...again.enrolment().owners.values()].map(({ issuer }) => issuer),
      ['a'],
    );
    write('a.jwks.json', { keys: [] });
    await served.readAgain();
    assert.ok(![...served.enrolment().owners.values()].some(({ issuer }) => issuer === 'a'), 'it is revoked');
  });

test('the newer of two claimants of a key id does not get it, wherever it is in the file', async t => {
  const { served, write, kids } = await open(
    t,
    { one: memory },
    { callers: { b: clusters.b, a: clusters.a } },
  );
  write('b.jwks.json', clash);
  write('a.jwks.json', { keys: [a.publicJwk, { ...other.publicJwk, crv: 'Ed25519' }] });
  await served.readAgain();
  assert.equal(served.enrolment().owners.get(a.kid)?.issuer, 'a');
  assert.ok(kids().includes(a.kid));
});

for (const [name, clashing] of [
  ['key id', clash],
  ['key', { keys: [{ ...a.publicJwk, kid: 'mine' }] }],
] as const)
  test(`a ${name} stays its cluster's while that cluster's file is broken, and not after its removal`, async t => {
    const callers = { b: clusters.b, a: clusters.a };
    const { served, write, kids } = await open(t, { one: memory }, { callers });
    for (let look = 0; look < 3; look++) {
      write('a.jwks.json', look === 1 ? { keys: [{ ...a.publicJwk, x: 'AAAA' }] } : '{');
      write('b.jwks.json', clashing);
      await served.readAgain();
      assert.deepEqual(kids(), [], 'neither has it');
    }
    write('a.jwks.json', { keys: [a.publicJwk] });
    await served.readAgain();
    assert.equal(served.enrolment().owners.get(a.kid)?.issuer, 'a');
    write('a.jwks.json', { keys: [] });
    await served.readAgain();
    assert.deepEqual(
      [...served.enrolment().owners.values()].map(({ issuer }) => issuer),
      ['b'],
    );
  });

test("a key stays its cluster's when that cluster changes its key id, even if another cluster has a copy", async t => {
  const callers = { b: clusters.b, a: clusters.a };
  const { served, write } = await open(t, { one: memory }, { callers });
  write('b.jwks.json', { keys: [{ ...a.publicJwk, kid: 'copy' }] });
  await served.readAgain();
  write('a.jwks.json', { keys: [{ ...a.publicJwk, kid: 'renamed' }] });
  await served.readAgain();
  assert.deepEqual(
    [...served.enrolment().owners].map(([kid, { issuer }]) => [kid, issuer]),
    [['renamed', 'a']],
  );
});

test("another cluster's key cannot be taken by using it under an own key id", async t => {
  const { served, write } = await open(t, { one: memory }, { callers: clusters });
  write('b.jwks.json', { keys: [other.publicJwk] });
  await served.readAgain();
  write('a.jwks.json', { keys: [{ ...other.publicJwk, kid: a.kid }] });
  await served.readAgain();
  assert.deepEqual(
    [...served.enrolment().owners].map(([kid, { issuer }]) => [kid, issuer]),
    [[other.kid, 'b']],
  );
});

const badEdits: readonly (readonly [name: string, file: object])[] = [
  ['the pools', { pools: { one: { backend: 'floppy' } } }],
  ['unknown members', { pools: { one: memory }, colour: 'red', size: 1 }],
  [
    'another cluster',
    { pools: { one: memory }, clusters: { b: { keys: 1, pools: ['gone'], colour: 'red' } } },
  ],
  ['a new cluster', { pools: { one: memory }, clusters: { c: { keys: 1 }, b: { keys: 'b.jwks.json' } } }],
  ['the operators', { pools: { one: memory }, clusters: { b: { keys: 'b.jwks.json' } }, operators: 1 }],
  ['both', { pools: {}, clusters: { b: { keys: 'b.jwks.json', pools: ['two'] } } }],
];
for (const [name, file] of badEdits)
  test(`a removed cluster is refused at once, even if the same edit breaks ${name}`, async t => {
    const { served, write, kids, errors } = await open(t, { one: memory }, { callers: clusters });
    write('b.jwks.json', { keys: [other.publicJwk] });
    await served.readAgain();
    const told = errors().length;
    write('gateway.yaml', { clusters: { b: clusters.b }, ...file });
    await served.readAgain();
    assert.deepEqual([kids(), poolNames(served)], [[other.kid], ['one']]);
    assert.ok(errors().length > told);
  });

test('a new pool is opened with its topology; a removed or changed one stays, and that is reported', async t => {
  const { served, write, lines } = await open(t, { one: memory, two: memory });
  const topology = { zone: 'a' };
  const two = served.pools.get('two').backend;
  write('gateway.yaml', { pools: { one: { ...memory, topology }, three: { ...memory, topology } } });
  await served.readAgain();
  assert.deepEqual(poolNames(served), ['one', 'two', 'three']);
  assert.equal(served.pools.get('two').backend, two);
  const offered = served.pools.offered().map(({ name }) => name);
  assert.deepEqual(offered, ['one', 'three'], 'a removed pool takes nothing new');
  const topologies = ['one', 'three'].map(name => served.pools.get(name).backend.topologies);
  assert.deepEqual(topologies, [undefined, [topology]]);
  const warnings = lines.filter(line => line.startsWith('warn'));
  assert.match(warnings.join('\n'), /pools\.one: its settings have changed[^]*pools\.two: it was removed/);
});

test("a pool's share changes while it is open", async t => {
  const { served, write, lines } = await open(t, { one: memory });
  assert.deepEqual(served.boundsOf('one'), defaultBounds);
  write('gateway.yaml', { pools: { one: { ...memory, concurrency: { max: 2 } } } });
  await served.readAgain();
  assert.deepEqual(served.boundsOf('one'), { min: 2, max: 2 });
  assert.ok(!lines.some(line => line.startsWith('warn')), lines.join('\n'));
});

test('a new pool that cannot be opened is opened as soon as possible, and authentication does not wait for it', async t => {
  const { served, write, kids, errors, directory } = await open(t);
  const late = { backend: 'dir', dir: join(directory, 'late') };
  write('gateway.yaml', { pools: { one: memory, late }, clusters: {} });
  await served.readAgain();
  assert.deepEqual([kids(), poolNames(served), errors().length], [[], ['one'], 1]);
  mkdirSync(late.dir);
  await served.readAgain();
  assert.deepEqual([kids(), poolNames(served)], [[], ['one', 'late']]);
});

test('a pool that can neither be opened nor closed again is reported, too', async t => {
  const close = new Error('cannot be closed');
  const openMine = async () => ({
    ...openMemory({ capacity: 1 }),
    attachmentBounds: { protocols: [] },
    close: () => Promise.reject(close),
  });
  const plugins: Plugins = { ...backends, dir: { ...backends.memory, open: openMine } };
  const { served, write, errors } = await open(t, { one: memory }, { plugins });
  const attachments = { protocols: ['loop'], roots: ['/srv/two'] };
  write('gateway.yaml', { pools: { one: memory, two: { backend: 'dir', attachments } } });
  await served.readAgain();
  assert.match(errors().join('\n'), /cannot be closed/);
});

test('at a start a key id with two claimants belongs to the first in the file, however new its own file is', async t => {
  const callers = { b: clusters.b, a: clusters.a };
  const { directory, write } = await open(t, { one: memory }, { callers });
  write('b.jwks.json', clash);
  const { log } = createMemoryLog();
  const again = await openConfiguration(join(directory, 'gateway.yaml'), { plugins: backends, log });
  t.after(() => again.close());
  assert.equal(again.enrolment().owners.get(a.kid)?.issuer, 'b');
  assert.deepEqual(
    again.keyFaults().map(({ cluster }) => cluster),
    ['a'],
  );
});

test('pools that cannot be opened are reported together, and the opened ones are closed', async t => {
  let closed = 0;
  const close = async (): Promise<void> => void closed++;
  const openMine = async () => ({ ...openMemory({ capacity: 1 }), close });
  const plugins: Plugins = { ...backends, memory: { ...backends.memory, open: openMine } };
  const missing = { backend: 'image', dir: '/no/such/directory' };
  const opening = open(t, { one: memory, two: missing, three: missing }, { plugins });
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

type OpenedGateway = {
  readonly directory: string;
  readonly served: ServedConfiguration;
  readonly lines: readonly string[];
  readonly errors: () => readonly string[];
  readonly kids: () => readonly string[];
  readonly write: (file: string, content: unknown) => void;
};

/** Opens a configuration with these pools and one cluster; it ends with the test. */
async function open(
  t: TestContext,
  pools: object = { one: memory },
  { plugins = backends, callers = { a: clusters.a } }: { plugins?: Plugins; callers?: object } = {},
): Promise<OpenedGateway> {
  const directory = temporaryDirectory(t);
  const { log, lines } = createMemoryLog();
  let writes = 0;
  const write = (file: string, content: unknown): void => {
    const path = join(directory, file);
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
    // Each write changes the modification time, however coarse the filesystem's clock is.
    utimesSync(path, new Date(), new Date(Date.now() + ++writes * 1_000));
  };
  write('a.jwks.json', { keys: [a.publicJwk] });
  write('gateway.yaml', { pools, clusters: callers });
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
