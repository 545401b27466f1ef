import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Client, credentials, status, type StatusObject } from '@grpc/grpc-js';
import * as fc from 'fast-check';
import { codecOf, type Messages, type Services } from '../../src/csi/protocol.ts';
import { isFull, seed } from '../harness/sample.ts';

/** The services, and a way to make their requests. */
type MalformedOptions = {
  readonly messages: Messages;
  readonly services: Services;
  /** The fields of all requests; each request takes the fields it knows. */
  readonly whole: object;
  /** Serves all of the services until the test ends; returns the socket's path. */
  readonly open: (t: TestContext) => Promise<string>;
};

/** Calls an RPC with these bytes as the request. */
type RawCall = (path: string, bytes: Buffer) => Promise<StatusObject>;

const bad = new Set([status.INTERNAL, status.UNKNOWN, status.UNAVAILABLE, status.DEADLINE_EXCEEDED]);
const change = fc.record({ at: fc.nat(200), remove: fc.nat(3), add: fc.uint8Array({ maxLength: 4 }) });

/** Tests that each RPC of the services answers damaged requests with a code that blames the caller. */
export function testMalformedRequests({ messages, services, whole, open }: MalformedOptions): void {
  const methods = Object.entries(services).flatMap(([service, all]) =>
    all.map(({ name, request }) => ({
      path: `/${service}/${name}`,
      bytes: Buffer.from(codecOf(messages, request).serialize(whole)),
    })),
  );
  const names = Object.keys(services).join(', ');
  test(`damaged requests of ${names} are answered with a code that blames the caller`, async t => {
    const call = connectRaw(t, await open(t));
    const requests = fc
      .tuple(fc.constantFrom(...methods), fc.array(change, { maxLength: 4 }))
      .map(([{ path, bytes }, changes]) => ({ path, bytes: changes.reduce(applyTo, bytes) }));
    const property = fc.asyncProperty(requests, async ({ path, bytes }) => {
      const { code, details } = await call(path, bytes);
      assert.ok(!bad.has(code), `${path} ${bytes.toString('hex')}: ${status[code]} ${details}`);
      assert.notEqual(code, status.UNIMPLEMENTED, `${path} is not served`);
    });
    await fc.assert(property, { seed, numRuns: isFull ? 20_000 : 500 });
  });
}

/** Opens a client of the socket that closes with the test. */
export function connectRaw(t: TestContext, socketPath: string): RawCall {
  const client = new Client(`unix://${socketPath}`, credentials.createInsecure());
  t.after(() => client.close());
  return (path, bytes) =>
    new Promise(resolve => {
      const stream = client.makeServerStreamRequest(path, asIs, asIs, bytes, {
        deadline: Date.now() + 60_000,
      });
      stream.on('data', () => {});
      stream.on('error', () => {});
      stream.on('status', resolve);
    });
}

function applyTo(
  bytes: Buffer,
  { at, remove, add }: { at: number; remove: number; add: Uint8Array },
): Buffer {
  return Buffer.concat([bytes.subarray(0, at), add, bytes.subarray(at + remove)]);
}

function asIs(bytes: Buffer): Buffer {
  return bytes;
}
