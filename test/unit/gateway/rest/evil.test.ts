import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { after, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import type { Backend } from '../../../../gateway/backend.ts';
import { rest } from '../../../../gateway/backends/rest.ts';
import { maxTextBytes } from '../../../../src/api/http/printable.ts';
import { Problem } from '../../../../src/api/problem.ts';
import { maxSchemaBytes } from '../../../../src/api/schemas/parameters.ts';
import { features } from '../../../../src/api/storage.ts';
import { listen } from '../../../harness/listen.ts';
import type { CleanupScope } from '../../../harness/temporary.ts';
import { sampleGroup, sampleSnapshot, sampleVolume } from '../../../fakes/storage-api.ts';
import { isFull, seed } from '../../../harness/sample.ts';
import { createMemoryLog, mounted, temporaryDirectory } from '../../../harness/gateway.ts';

const mebibyte = 2 ** 20;
const nonce = 'n1';
const id = 'a.pvc-1';
const volumeId = `gateway.acme.${id}.${nonce}`;
const snapshotId = `gateway.acme.a.cut.${nonce}`;
const groupId = `gateway.acme.a.group.${nonce}`;
const schema = {
  type: 'object',
  properties: { tier: { enum: ['a', 'b'], description: 'the tier' } },
  additionalProperties: { type: 'string', maxLength: 9 },
};

const volume = sampleVolume({ id: volumeId, name: id, context: { server: 'x' } });
const attachment = {
  protocol: 'nvme-tcp',
  addresses: ['192.0.2.1:4420'],
  subsystem: 'nqn.x',
  wwid: 'uuid.x',
  attachmentId: 'x',
  sizeBytes: mebibyte,
  readonly: false,
  mayFormat: true,
};
const snapshot = sampleSnapshot({ id: snapshotId, name: 'a.cut', volumeId });

const group = sampleGroup({ id: groupId, name: 'a.group' });

/** The answers of a correct storage, by method and path. */
const good: readonly (readonly [route: RegExp, answer: object])[] = [
  [
    /^GET \/v1\/capabilities$/,
    {
      version: '1',
      accessModes: ['SINGLE_NODE_WRITER'],
      accessTypes: ['mount', 'block'],
      features: [...features],
      zeroed: true,
      topologies: [{ zone: 'a' }],
      limits: { minimumVolumeBytes: 1, stepBytes: 1 },
      parameters: { volume: schema, snapshot: schema, mutable: schema },
    },
  ],
  [/^POST \/v1\/capacity$/, { availableBytes: 1 }],
  [/^GET \/v1\/volumes$/, { volumes: [volume] }],
  [/^GET \/v1\/snapshots$/, { snapshots: [snapshot, { ...snapshot, id: 'x', groupId }] }],
  [/\/attachments\/[^/]+$/, { volumeId, nodeId: 'a.node-1', state: 'attached', readonly: false, attachment }],
  [/\/health$/, { volumeId, entries: [{ status: 'DEGRADED', reason: 'Slow', message: 'slow' }] }],
  [/\/blocks$/, { sizeBytes: mebibyte, blocks: [{ offset: 0, length: 4096 }] }],
  [/\/snapshots\/[^/]+$/, snapshot],
  [/\/groups\/[^/]+$/, { ...group, snapshots: group.snapshots.map(one => Object.assign(one, { groupId })) }],
  [/\/volumes\/[^/]+(\/size|\/parameters)?$/, volume],
];

/** Generates bad values. */
const bad = fc.constantFrom<readonly [name: string, make: () => unknown]>(
  ['huge', () => `\u001B[31m${'é'.repeat(mebibyte)}`],
  ['control characters', () => '\u001B]0;x\u0007\u202E\0\r\n'],
  ['deep', () => JSON.parse('['.repeat(5_000) + ']'.repeat(5_000)) as unknown],
  ['many', () => Array.from({ length: 100_000 }, (_, index) => ({ id: `x${index}`, [index]: 'x' }))],
  ['a slow pattern', () => ({ type: 'object', patternProperties: { '(a+)+$': {} }, pattern: '^(a+)+$' })],
  ['nested choices', () => Array.from({ length: 12 }).reduce<object>(one => ({ anyOf: [one, one] }), {})],
  ['a number', () => -1.5e308],
  ['nothing', () => null],
  ['an object', () => ({ __proto__: { a: 1 }, 'csi.storage.k8s.io/ephemeral': 'true', encryption: 'x' })],
  ['another text', () => 'x'],
);

/** Bad answers as a whole. */
const transports: Readonly<Record<string, (response: ServerResponse) => void>> = {
  hang: () => {},
  bomb: response => {
    const head = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    response.writeHead(200, head).end(gzipSync(Buffer.alloc(64 * mebibyte)));
  },
  endless: response => {
    response.writeHead(200, { 'content-type': 'application/json' });
    pipeline(Readable.from(blanks()), response).catch(() => {});
  },
  slow: response => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{');
  },
  reset: response => void response.socket?.resetAndDestroy(),
  page: response => void response.writeHead(502, { 'content-type': 'text/html' }).end('<html>'),
  problem: response => {
    const detail = `\u001B[2J${'x'.repeat(3 * mebibyte)}`;
    const document = { type: 'x', title: 'x', status: 409, code: 'FAILED_PRECONDITION', detail };
    response.writeHead(409, { 'content-type': 'application/problem+json' }).end(JSON.stringify(document));
  },
  later: response => void response.writeHead(202, { 'retry-after': '0' }).end(),
};

function* blanks(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(mebibyte, 0x20);
}

/** A bad answer, and its route. */
type EvilAnswer =
  | {
      readonly kind: 'value';
      readonly at: number;
      readonly leaf: number;
      readonly bad: readonly [string, () => unknown];
    }
  | { readonly kind: 'transport'; readonly at: number; readonly name: string }
  | { readonly kind: 'endless list'; readonly at: number; readonly isEmpty: boolean };

const at = fc.nat({ max: good.length - 1 });
const deed: fc.Arbitrary<EvilAnswer> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('value' as const), at, leaf: fc.nat({ max: 60 }), bad }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('transport' as const),
      at,
      name: fc.constantFrom(...Object.keys(transports)),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('endless list' as const),
      at: fc.constantFrom(2, 3, 6),
      isEmpty: fc.boolean(),
    }),
  },
);

/** Every request that a gateway makes to a storage. */
const calls: Readonly<Record<string, (backend: Backend) => Promise<unknown> | undefined>> = {
  create: backend =>
    backend.create({
      id,
      nonce,
      requiredBytes: mebibyte,
      limitBytes: 0,
      parameters: {},
      capabilities: [mounted],
    }),
  attach: backend =>
    backend.attach(known, {
      nodeId: 'node-1',
      cluster: 'a',
      attachmentId: 'x',
      capability: mounted,
      readonly: false,
    }),
  detach: backend => backend.detach({ id, nonce }, 'node-1', 'a'),
  expand: backend => backend.expand?.(known, { requiredBytes: mebibyte, limitBytes: 0 }),
  modify: backend => backend.modification?.apply(known, { tier: 'a' }),
  health: backend => backend.volumeHealth?.(known),
  available: backend => backend.available?.({ capabilities: [mounted] }),
  list: backend => read(backend.list?.()),
  'snapshots.list': backend => read(backend.snapshots?.list?.()),
  'snapshots.create': backend =>
    backend.snapshots?.create({
      id: 'a.cut',
      nonce,
      volume: known,
      attachedForWriting: false,
      parameters: {},
    }),
  'snapshots.delete': backend => backend.snapshots?.delete({ id: 'a.cut', nonce }),
  changes: backend =>
    read(backend.changes?.allocated({ id: 'a.cut', nonce, volumeId: id, sizeBytes: mebibyte }, 0)),
  parameters: async backend => {
    const slow = { tier: 'a', a: `${'a'.repeat(40)}!` };
    const all = [backend.parameters, backend.modification?.parameters, backend.snapshots?.parameters];
    return all.map(one => [one?.safeParse(slow).success, one?.toJSONSchema()]);
  },
  delete: backend => backend.delete({ id, nonce }),
};
const known = { id, nonce, sizeBytes: mebibyte, parameters: {} };

async function read<T>(list: AsyncIterable<T> | undefined): Promise<readonly T[]> {
  return list ? Array.fromAsync(list) : [];
}

const storage = await startStorage();

for (const name of Object.keys(calls))
  test(`a storage without bad deeds answers the requests of "${name}"`, async t => {
    const directory = temporaryDirectory(t);
    writeFileSync(join(directory, 'token'), 'secret');
    assert.equal(await play(directory, undefined, name), 'answered');
  });

test('every request to a storage with any answer ends in time, in little memory, with a printable error', async t => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'token'), 'secret');
  let deepest = 0;
  await fc.assert(
    fc.asyncProperty(deed, fc.constantFrom(...Object.keys(calls)), async (evil, name) => {
      const before = process.memoryUsage().rss;
      const startedMs = performance.now();
      await play(directory, evil, name);
      assert.ok(performance.now() - startedMs < 20_000, 'it took too long');
      deepest = Math.max(deepest, process.memoryUsage().rss - before);
    }),
    { numRuns: isFull ? 1_000 : 60, endOnFailure: true, seed },
  );
  assert.ok(deepest < 400 * mebibyte, `${deepest} bytes more`);
});

for (const name of Object.keys(transports))
  test(`a pool is opened later if its storage answers its capabilities with "${name}"`, async t => {
    const directory = temporaryDirectory(t);
    writeFileSync(join(directory, 'token'), 'secret');
    await play(directory, { kind: 'transport', at: 0, name }, 'list');
  });

/** Opens a pool over the bad storage, makes one request, and examines the outcome. */
async function play(directory: string, evil: EvilAnswer | undefined, name: string): Promise<string> {
  storage.deed = evil;
  let outcome = 'answered';
  const { log, lines } = createMemoryLog();
  const settings = rest.settings.parse({
    url: storage.url,
    token: 'token',
    tries: 1,
    requestTimeout: '500ms',
    queryTimeout: '1s',
    workTimeout: '2s',
    lookEvery: '1h',
  });
  let backend: Backend | undefined;
  try {
    backend = await rest.open(settings, { name: 'acme', log, directory });
    const answer = JSON.stringify(await calls[name]?.(backend)) ?? '';
    const bytes = name === 'parameters' ? 3 * maxSchemaBytes + 10_000 : 8 * mebibyte;
    assert.ok(answer.length < bytes, `${answer.length} bytes come of it`);
  } catch (error) {
    assert.ok(error instanceof Problem, String(error));
    requireShown(error.detail);
    outcome = error.detail;
  } finally {
    await backend?.close?.();
  }
  for (const line of lines) assert.ok(line.length < 2 * maxTextBytes);
  return outcome;
}

function requireShown(text: string): void {
  assert.ok(Buffer.byteLength(text) <= maxTextBytes);
  assert.doesNotMatch(text, /[\p{Cc}\u202A-\u202E\u2066-\u2069]/u);
}

/** Starts a storage that answers correctly except for one deed. */
async function startStorage() {
  const state: { url: string; deed: EvilAnswer | undefined } = { url: '', deed: undefined };
  let pages = 0;
  const bodyOf = (index: number, evil: EvilAnswer | undefined): unknown => {
    const body = good[index]?.[1] ?? {};
    if (evil?.kind === 'value') return replaceLeaf(body, evil.leaf, evil.bad[1]());
    return evil?.kind === 'endless list' ? endlessOf(body, ++pages, evil.isEmpty) : body;
  };
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const { pathname } = new URL(request.url ?? '/', 'http://x');
    const index = good.findIndex(([route]) => route.test(`${request.method} ${pathname}`));
    const evil = state.deed?.at === index ? state.deed : undefined;
    if (evil?.kind === 'transport') return transports[evil.name]?.(response);
    if (request.method === 'DELETE') return void response.writeHead(204).end();
    const status = request.method === 'PUT' && !/(size|parameters)$/.test(pathname) ? 201 : 200;
    const body = JSON.stringify(bodyOf(index, evil));
    response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  };
  const server = createServer((request, response) => {
    response.on('error', () => {});
    request.on('error', () => {}).resume();
    answer(request, response);
  });
  state.url = `http://${await listen({ after: after as CleanupScope['after'] }, server)}`;
  return state;
}

function endlessOf(body: object, page: number, isEmpty: boolean): object {
  const entries = isEmpty
    ? Object.fromEntries(Object.entries(body).map(([key, value]) => [key, Array.isArray(value) ? [] : value]))
    : body;
  return { ...entries, nextPageToken: `page-${page}`, nextOffset: (page % 1_000_000) + 1 };
}

/** Replaces the value at one path, counted in document order. */
function replaceLeaf(document: unknown, leaf: number, value: unknown): unknown {
  const paths = pathsOf(document);
  const path = paths[leaf % paths.length] ?? [];
  const copy = structuredClone(document);
  let holder = copy as Record<string, unknown>;
  for (const key of path.slice(0, -1)) holder = holder[key] as Record<string, unknown>;
  const last = path.at(-1);
  if (last === undefined) return value;
  holder[last] = value;
  return copy;
}

function pathsOf(value: unknown, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [path];
  return [path, ...Object.entries(value).flatMap(([key, one]) => pathsOf(one, [...path, key]))];
}
