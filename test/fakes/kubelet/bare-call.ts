import { connect } from 'node:net';

const frames = { data: 0, headers: 1, resetStream: 3, settings: 4 };
const endOfHeaders = 4;
const endOfStream = 1;

/** Calls Probe in bare HTTP/2 frames, because every HTTP/2 client restricts the authority in its own way. */
export function probe(
  socketPath: string,
  extra: Readonly<Record<string, string>>,
): Promise<'answered' | 'refused'> {
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

/** Encodes a header block with every field as a literal without indexing (RFC 7541, 6.2.2). */
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
