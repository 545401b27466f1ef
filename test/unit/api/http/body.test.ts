import assert from 'node:assert/strict';
import { createServer, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { test, type TestContext } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createExchange as createFetchExchange } from '../../../../src/api/http/fetch.ts';
import { createExchange } from '../../../../src/api/http/undici.ts';
import { fetchBody, parseBody, readLines } from '../../../../src/api/http/body.ts';
import { createOauth } from '../../../../src/api/http/oauth.ts';
import { discoverKeys } from '../../../../gateway/callers/discovery.ts';
import { sendRequest } from '../../../../src/kit/http/exchange.ts';
import { createApiServer } from '../../../../src/controller/kubernetes/api-server.ts';
import { listen } from '../../../harness/listen.ts';

const mebibyte = 2 ** 20;
/** 256 MiB of zeros, compressed to less than a mebibyte. */
const bomb = gzipSync(Buffer.alloc(2 ** 28));
const json = { 'content-type': 'application/json' };
const signal = AbortSignal.timeout(60_000);

/** Answers that must not be read as their headers say. */
const evil: Readonly<Record<string, (response: ServerResponse) => void>> = {
  'a compressed body': response => {
    response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(bomb);
  },
  'a compressed body in two layers': response => {
    response.writeHead(200, { ...json, 'content-encoding': 'gzip, gzip' }).end(gzipSync(bomb));
  },
  'a body without an end': response => {
    response.writeHead(200, json);
    pipeline(Readable.from(blanks()), response).catch(() => {});
  },
  'a body of the wrong length': response => {
    response.writeHead(200, { ...json, 'content-length': String(2 ** 40) }).write('{}');
  },
};

function* blanks(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(mebibyte, 0x20);
}

type Reader = (url: string) => Promise<unknown>;

/** The functions that read a body, with a deadline of their own. */
const readers: Readonly<Record<string, Reader>> = {
  'the client': url => sendBy(createExchange, url),
  'the client of other runtimes': url => sendBy(createFetchExchange, url),
  'the client of an authorization server': async url =>
    createOauth({ url, clientId: 'a', secret: () => 'b', timeoutMs: 2_000 })(false),
  'the reader of published keys': async url => {
    const { keys, fault } = discoverKeys(url, 2_000);
    await assert.rejects(async () => keys({ alg: 'EdDSA', kid: 'x' }, { payload: '', signature: '' }));
    throw new Error(fault());
  },
  'one request': url => fetchBody(url, { timeoutMs: 2_000 }, { from: 'it' }),
  'the kit': async url => {
    const asked = { method: 'GET', path: '/', headers: {} };
    const { answer, error } = await sendRequest({ url: new URL(url) }, asked, { timeoutMs: 2_000, signal });
    if (!answer) throw new Error(error);
    return answer;
  },
  'the client of Kubernetes': async url => {
    const server = createApiServer({ url: new URL(url), tls: {} }, AbortSignal.timeout(2_000));
    return server.read('/').finally(() => server.close());
  },
};

for (const [name, read] of Object.entries(readers))
  for (const [what, answer] of Object.entries(evil))
    test(`${name} reads little of ${what}, and reports that in time`, async t => {
      const { url, sent } = await serve(t, answer);
      const before = process.memoryUsage().rss;
      const startedMs = performance.now();
      await assert.rejects(read(url));
      assert.ok(performance.now() - startedMs < 20_000);
      // The limit of a body is 64 MiB for a list of nodes; decompression does not begin.
      const maxBytes = name === 'the client of Kubernetes' ? 64 * mebibyte : 4 * mebibyte;
      assert.ok(sent() < maxBytes + 32 * mebibyte, `${sent()} bytes were taken`);
      assert.ok(process.memoryUsage().rss - before < 300 * mebibyte);
    });

test('endlessly nested values are no JSON, and brackets in strings do not count', () => {
  assert.deepEqual(parseBody(deep(64)), JSON.parse(deep(64)));
  for (const text of [deep(65), deep(2 ** 20), '{"a":'.repeat(2 ** 17), '[[{"a":"\\""', '{'])
    assert.equal(parseBody(text), undefined);
  for (const value of ['['.repeat(1_000), `\\"[{${'{'.repeat(100)}\\`, { a: ['"', ']]]', '\\'] }])
    assert.deepEqual(parseBody(JSON.stringify(value)), value);
});

test('lines arrive unchanged however they are split, and a line without an end is refused', async () => {
  const text = '{"a":"é"}\r\nb\n\nlast';
  const bytes = Buffer.from(text);
  for (const size of [1, 2, 3, 7, 100]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
      bytes.subarray(index * size, (index + 1) * size),
    );
    assert.deepEqual(await linesOf(pieces), ['{"a":"é"}\r', 'b', '', 'last'], String(size));
  }
  const endless = Array.from({ length: 64 }, () => Buffer.alloc(mebibyte, 0x61));
  await assert.rejects(linesOf(endless), { code: 'UNAVAILABLE', detail: /a line of more than/ });
});

function deep(depth: number): string {
  return '['.repeat(depth) + ']'.repeat(depth);
}

async function linesOf(pieces: readonly Uint8Array[]): Promise<readonly string[]> {
  const chunks = (async function* () {
    yield* pieces;
  })();
  return Array.fromAsync(readLines({ chunks, encoding: undefined }, { from: 'it' }));
}

async function sendBy(create: typeof createExchange, url: string): Promise<unknown> {
  const client = create({ url });
  const asked = { method: 'GET', path: '/', headers: {}, body: null };
  return client.send(asked, AbortSignal.timeout(2_000)).finally(() => client.close());
}

/** Starts a server that gives every request this answer and counts the sent bytes. */
async function serve(t: TestContext, answer: (response: ServerResponse) => void) {
  let closed = 0;
  const server = createServer((_, response) => {
    response.on('error', () => {});
    answer(response);
  });
  server.on('connection', socket => socket.on('close', () => (closed += socket.bytesWritten)));
  return { url: `http://${await listen(t, server)}`, sent: () => closed };
}
