import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { AttachmentOf } from '../../../src/api/attachment.ts';
import { nbd } from '../../../node-agent/connectors/nbd.ts';
import { createMachine } from '../../../node-agent/machine.ts';
import { openNbdWorld } from '../../fakes/disks.ts';
import { mountFake } from '../../fakes/sysfs.ts';
import { testConnector } from '../../suites/connector.ts';
import { testConnectorFaults } from '../../suites/connector-faults.ts';

const MiB = 2 ** 20;

function attachmentTo(name: string, sizeBytes = MiB): AttachmentOf<'nbd'> {
  return {
    protocol: 'nbd',
    server: 'nbd.test',
    port: 10_809,
    export: name,
    attachmentId: 'a',
    sizeBytes,
    readonly: false,
    mayFormat: true,
  };
}

function open() {
  const { host, volumes } = openNbdWorld();
  return {
    host,
    attach: (name: string, sizeBytes: number) => {
      volumes.set(name, { name, sizeBytes });
      return attachmentTo(name, sizeBytes);
    },
    resize: (attachment: AttachmentOf<'nbd'>, sizeBytes: number) =>
      void volumes.set(attachment.export, { name: attachment.export, sizeBytes }),
    use: async (path: string) => {
      const release = mountFake(host, path);
      return async () => release();
    },
  };
}

testConnector({ name: 'nbd on the fake machine', skip: undefined, connector: nbd, open });

testConnectorFaults({
  connector: nbd,
  open() {
    const { host, attach } = open();
    const left = () =>
      host.names('/sys/block').filter(name => host.get(`/sys/block/${name}/pid`) !== undefined);
    return { host, attachment: attach('vol1', MiB), left };
  },
});

test('nbd hands the connection to the kernel with the name of what it leads to', async () => {
  const { host, attach } = open();
  const attachment = { ...attach('a b/ü', MiB), server: '2001:db8::7', readonly: true };
  const { identity, readonly } = await nbd.connect(attachment, host);
  assert.equal(identity, 'nbd://[2001:db8::7]:10809/a%20b%2F%C3%BC');
  assert.equal(readonly, true);
  const [modprobe, line = ''] = host.lines;
  assert.equal(modprobe, 'modprobe --quiet -- nbd');
  assert.match(
    line,
    /^node --disable-warning=ExperimentalWarning \S+\/nbd\/link.ts connect 2001:db8::7 10809 a b\/ü nbd:\S+ ro$/,
  );
});

test('nbd refuses an export that is connected twice, and lets both go', async () => {
  const { host, attach } = open();
  const attachment = attach('v', MiB);
  const { identity } = await nbd.connect(attachment, host);
  host.put('/sys/block/nbd1/backend', identity);
  await assert.rejects(nbd.connect(attachment, host), {
    code: 'FAILED_PRECONDITION',
    detail: /more than once/,
  });
  await nbd.disconnect(attachment, host);
  assert.deepEqual(host.lines.filter(line => line.includes('disconnect')).length, 2);
});

test('nbd does not take the size of an export that has grown while its device is in use', async () => {
  const { host, attach, resize, use } = open();
  const attachment = attach('v', MiB);
  const { path } = await nbd.connect(attachment, host);
  resize(attachment, 2 * MiB);
  const release = await use(path);
  await assert.rejects(nbd.rescan?.(attachment, host) ?? Promise.resolve(), {
    code: 'FAILED_PRECONDITION',
    detail: /in use by the mount at "\/mnt"/,
  });
  await release();
});

const remote = '07026EC0:2A39';
const established = `  0: 01026EC0:9C40 ${remote} 01 00000000:00000000 00:00000000 00000000     0        0 1\n`;
const closing = established.replace(' 01 ', ' 08 ');

test('nbd connects again what has lost its connection, and nothing else', async () => {
  const { host, attach } = open();
  const attachment = attach('v', MiB);
  await nbd.repair?.([attachment], host);
  assert.deepEqual(host.lines, []);
  await nbd.connect(attachment, host);
  const before = host.lines.length;
  for (const [text, lines] of [
    [established, 0],
    [closing, 1],
    [established, 1],
  ] as const) {
    host.state.texts.set('/proc/net/tcp', text);
    await nbd.repair?.([attachment], host);
    assert.equal(host.lines.length - before, lines);
  }
  assert.match(host.lines.at(-1) ?? '', /link.ts reconnect nbd.test 10809 v \S+ rw 0$/);
});

const link = fileURLToPath(new URL('../../../node-agent/connectors/nbd/link.ts', import.meta.url));

/** A server that says one thing after another, each once it is spoken to; its port. */
async function serve(t: TestContext, ...sayings: readonly Buffer[]): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer(socket => {
    sockets.add(socket);
    const [hello, ...rest] = sayings;
    if (hello) socket.write(hello);
    socket
      .on('error', () => {})
      .on('data', () => {
        const next = rest.shift();
        if (next) socket.end(next);
      });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return typeof address === 'object' && address ? address.port : 0;
}

function askSize(port: number) {
  const args = ['--disable-warning=ExperimentalWarning', link, 'size', 'localhost', String(port), 'v'];
  return createMachine({ timeoutMs: 30_000 }).run(process.execPath, args);
}

const hello = Buffer.concat([Buffer.from('NBDMAGICIHAVEOPT'), Buffer.from([0, 3])]);

function reply(type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(20);
  head.writeBigUInt64BE(0x3e889045565a9n, 0);
  head.writeUInt32BE(7, 8);
  head.writeUInt32BE(type, 12);
  head.writeUInt32BE(data.length, 16);
  return Buffer.concat([head, data]);
}

const info = Buffer.alloc(12);
info.writeBigUInt64BE(BigInt(5 * MiB), 2);

test('an export is opened, and its size is told', async t => {
  const port = await serve(t, hello, Buffer.concat([reply(3, info), reply(1, Buffer.alloc(0))]));
  const { status, stdout, stderr } = await askSize(port);
  assert.deepEqual([status, stdout, stderr], [0, `${5 * MiB}\n`, '']);
});

const refusals: readonly (readonly [name: string, sayings: readonly Buffer[], says: RegExp])[] = [
  ['that does not speak NBD', [Buffer.from('HTTP/1.1 400 Bad Request\r\n')], /does not speak NBD/],
  [
    'that speaks an old form of it',
    [Buffer.concat([hello.subarray(0, 16), Buffer.from([0, 0])])],
    /old form/,
  ],
  ['without the export', [hello, reply(2 ** 31 + 6, Buffer.alloc(0))], /has no such export/],
  ['that asks for TLS', [hello, reply(2 ** 31 + 5, Buffer.alloc(0))], /asks for TLS/],
  ['that tells no size', [hello, reply(1, Buffer.alloc(0))], /tells no size/],
  ['that answers something else', [hello, Buffer.alloc(20)], /does not speak NBD/],
  ['that ends in the middle', [hello, reply(3, info).subarray(0, 25)], /closed/],
];

for (const [name, sayings, says] of refusals)
  test(`a server ${name} is refused`, async t => {
    const { status, stderr } = await askSize(await serve(t, ...sayings));
    assert.equal(status, 1);
    assert.match(stderr, says);
  });
