import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createMachine } from '../../../../node-agent/host/linux.ts';

const sizeBytes = 5 * 2 ** 20;
const link = fileURLToPath(new URL('../../../../node-agent/connectors/nbd/link.ts', import.meta.url));

/** A server that says all it has to say at once; its port. */
async function serve(t: TestContext, ...sayings: readonly Buffer[]): Promise<number> {
  const server = createServer(socket => {
    socket.on('error', () => {});
    socket.resume().end(Buffer.concat(sayings));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

function askSize(port: number) {
  const args = ['--disable-warning=ExperimentalWarning', link, 'size', 'localhost', String(port), 'v'];
  return createMachine({ timeoutMs: 30_000 }).run(process.execPath, args);
}

const hello = Buffer.concat([Buffer.from('NBDMAGICIHAVEOPT'), Buffer.from([0, 3])]);

function reply(type: number, data = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(20);
  head.writeBigUInt64BE(0x3e889045565a9n, 0);
  head.writeUInt32BE(7, 8);
  head.writeUInt32BE(type, 12);
  head.writeUInt32BE(data.length, 16);
  return Buffer.concat([head, data]);
}

const info = Buffer.alloc(12);
info.writeBigUInt64BE(BigInt(sizeBytes), 2);

test('an export is opened, and its size is reported', async t => {
  const port = await serve(t, hello, reply(3, info), reply(1));
  const { status, stdout, stderr } = await askSize(port);
  assert.deepEqual([status, stdout, stderr], [0, `${sizeBytes}\n`, '']);
});

const refusals: readonly (readonly [name: string, sayings: readonly Buffer[], says: RegExp])[] = [
  ['that does not speak NBD', [Buffer.from('HTTP/1.1 400 Bad Request\r\n')], /does not speak NBD/],
  ['that speaks an old form of it', [hello.subarray(0, 16), Buffer.alloc(2)], /old form/],
  ['without the export', [hello, reply(2 ** 31 + 6)], /has no such export/],
  ['that asks for TLS', [hello, reply(2 ** 31 + 5)], /asks for TLS/],
  ['that reports no size', [hello, reply(1)], /reports no size/],
  ['that answers something else', [hello, Buffer.alloc(20)], /does not speak NBD/],
  ['that ends in the middle', [hello, reply(3, info).subarray(0, 25)], /closed/],
];

for (const [name, sayings, says] of refusals)
  test(`a server ${name} is refused`, async t => {
    const { status, stderr } = await askSize(await serve(t, ...sayings));
    assert.equal(status, 1);
    assert.match(stderr, says);
  });
