import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { serveCsi } from '../../harness/csi-serving.ts';

/**
 * What callers say for `:authority` over a UNIX socket. The HTTP/2 library below Node's takes none with a character
 * that no authority may have, and gives no way to change that; kubelet and the sidecars say `localhost`, or the path
 * with its slashes escaped, in every version that CSI 1.13 can meet.
 */
const accepted: readonly Readonly<Record<string, string>>[] = [
  ...['localhost', '127.0.0.1', 'localhost:80', '%2Fcsi%2Fcsi.sock', 'csi.sock'].map(toAuthority),
  { host: 'localhost' },
];
const refused = [...['', '/csi/csi.sock', 'unix:/csi/csi.sock', 'a b'].map(toAuthority), {}];

test('a call with an authority that a caller has, or with a host in its place, is answered', async t => {
  const { socketPath } = await serveCsi(t);
  for (const headers of accepted)
    assert.equal(await probe(socketPath, headers), 'answered', JSON.stringify(headers));
});

test('a call with another authority, or with none, is refused, and others go on', async t => {
  const { socketPath } = await serveCsi(t);
  for (const headers of refused) {
    assert.equal(await probe(socketPath, headers), 'refused', JSON.stringify(headers));
    assert.equal(await probe(socketPath, { ':authority': 'localhost' }), 'answered');
  }
});

function toAuthority(authority: string) {
  return { ':authority': authority };
}

const frames = { data: 0, headers: 1, resetStream: 3, settings: 4 };
const endOfHeaders = 4;
const endOfStream = 1;

/** Probe in bare HTTP/2 frames, because every HTTP/2 client has its own mind of what an authority may be. */
function probe(socketPath: string, extra: Readonly<Record<string, string>>): Promise<'answered' | 'refused'> {
  const headers = {
    ':method': 'POST',
    ':scheme': 'http',
    ':path': '/csi.v1.Identity/Probe',
    ...extra,
    te: 'trailers',
    'content-type': 'application/grpc',
  };
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    let received: Buffer = Buffer.alloc(0);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the connection was closed without an answer')));
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const types = typesOn(received);
      if (types.includes(frames.headers)) resolve('answered');
      else if (types.includes(frames.resetStream)) resolve('refused');
      else return;
      socket.destroy();
    });
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    socket.write(frame(frames.settings, 0, { stream: 0, payload: Buffer.alloc(0) }));
    socket.write(frame(frames.headers, endOfHeaders, { stream: 1, payload: encode(headers) }));
    socket.write(frame(frames.data, endOfStream, { stream: 1, payload: Buffer.alloc(5) }));
  });
}

function frame(
  type: number,
  flags: number,
  { stream, payload }: { stream: number; payload: Buffer },
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** The header block with every field as a literal that is not indexed (RFC 7541, 6.2.2). */
function encode(headers: Readonly<Record<string, string>>): Buffer {
  const parts = Object.entries(headers).flatMap(([name, value]) => [
    Buffer.of(0),
    literal(name),
    literal(value),
  ]);
  return Buffer.concat(parts);
}

function literal(text: string): Buffer {
  return Buffer.concat([Buffer.of(text.length), Buffer.from(text)]);
}

function typesOn(received: Buffer): number[] {
  const types: number[] = [];
  for (let at = 0; at + 9 <= received.length; at += 9 + received.readUIntBE(at, 3))
    types.push(received[at + 3] ?? -1);
  return types;
}
