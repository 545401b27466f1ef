import assert from 'node:assert/strict';
import { signerOf } from '../../harness/gateway/signers.ts';
import { callWithin, runGateway } from '../../harness/gateway/program.ts';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { type StorageClient } from '../../../src/api/client.ts';
import { maxBodyBytes } from '../../../src/api/operations.ts';
import { volumeSpec } from '../../harness/gateway.ts';

/** Above the memory of bounded bodies, and below the memory of bodies that are kept completely. */
const maxMegabytes = 230;
/** A growth too small for a body per connection; a round has 1,200 bodies. */
const settledMegabytes = 4;
const maxRounds = 30;
const body = 'x'.repeat(2 ** 20);

test('a hundred silent connections do not stop a gateway with 128 descriptors', async t => {
  const { url, client } = await startWithin(t, 128);
  await openAll(t, url, { count: 100, says: '' });
  await openAll(t, url, { count: 100, says: 'GET /v1/volumes HTTP/1.1\r\nhost:' });
  await requireServed(client);
});

test('half-sent bodies on 1,200 connections, with and without a token, take bounded memory and stop nobody', async t => {
  const { url, client, pid } = await startWithin(t, 4_096);
  await requireServed(client);
  await sendHalves(t, url, client);
  const first = peakOf(pid);
  assert.ok(first < maxMegabytes, `it took ${first} MB`);
  const peaks = [first];
  // Memory of closed connections is reused; otherwise each round would take more.
  for (let isSettled = false; !isSettled && peaks.length < maxRounds;) {
    await sendHalves(t, url, client);
    const peak = peakOf(pid);
    isSettled = peak - (peaks.at(-1) ?? 0) < settledMegabytes;
    peaks.push(peak);
  }
  assert.ok(peaks.length < maxRounds, `it took ever more: ${peaks.join(', ')} MB`);
});

/** Opens the connections, checks that another caller is served meanwhile, and closes them. */
async function sendHalves(t: TestContext, url: URL, client: StorageClient): Promise<void> {
  const head = `PUT /v1/volumes/a.x HTTP/1.1\r\nhost: x\r\ncontent-length: ${maxBodyBytes}\r\n`;
  const authorization = `authorization: Bearer ${await (await signerOf('a')).sign()}\r\n`;
  const callers = [
    ...(await openAll(t, url, { count: 600, says: `${head}\r\n${body}` })),
    ...(await openAll(t, url, { count: 600, says: `${head}${authorization}\r\n${body}` })),
  ];
  const { volumes } = await client.listVolumes({}, callWithin(60_000));
  assert.deepEqual(
    volumes.map(({ id }) => id),
    ['a.v'],
  );
  for (const caller of callers) caller.destroy();
  await requireServed(client);
}

/** Returns the peak memory of the process in megabytes. */
function peakOf(pid: number | undefined): number {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

async function requireServed(client: StorageClient): Promise<void> {
  const { state } = await client.createVolume({ volumeId: 'a.v', body: volumeSpec('v') }, callWithin(60_000));
  assert.equal(state, 'ready');
}

/** Opens connections one after another that each send this text and nothing else. */
async function openAll(
  t: TestContext,
  { hostname, port }: URL,
  { count, says }: { readonly count: number; readonly says: string },
): Promise<readonly Socket[]> {
  const sockets: Socket[] = [];
  t.after(() => sockets.forEach(socket => socket.destroy()));
  for (let opened = 0; opened < count; opened++) {
    const socket = connect(Number(port), hostname);
    sockets.push(socket.on('error', () => {}).resume());
    await once(socket, 'connect');
    socket.write(says);
  }
  return sockets;
}

/** Starts a gateway with a limited number of descriptors. */
async function startWithin(t: TestContext, descriptors: number) {
  const by = ['prlimit', `--nofile=${descriptors}:${descriptors}`];
  const { url, ...gateway } = await runGateway(t, { process: { by } });
  return { ...gateway, url: new URL(url) };
}
