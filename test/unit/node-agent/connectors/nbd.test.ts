import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttachmentOf } from '../../../../src/api/attachment.ts';
import { nbd } from '../../../../node-agent/connectors/nbd.ts';
import { createRepair } from '../../../../node-agent/connectors/nbd/repair.ts';
import type { Host } from '../../../../node-agent/host.ts';
import type { SysfsHost } from '../../../fakes/sysfs.ts';
import { testConnector, testConnectorFaults } from '../../../suites/connector.ts';
import { MiB, openNbd, toExport } from './worlds.ts';

testConnector({ name: 'nbd', connector: nbd, open: openNbd });

testConnectorFaults({
  name: 'nbd',
  connector: nbd,
  open() {
    const world = openNbd();
    return { ...world, attachment: world.attach('vol1') };
  },
});

test('nbd hands the connection to the kernel with the name of what it leads to', async () => {
  const { host, attach } = openNbd();
  const attachment = { ...attach('a b/ü'), server: '2001:db8::7', readonly: true };
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
  const { host, attach } = openNbd();
  const attachment = attach('v');
  const { identity } = await nbd.connect(attachment, host);
  host.put('/sys/block/nbd1/backend', identity);
  await assert.rejects(nbd.connect(attachment, host), {
    code: 'FAILED_PRECONDITION',
  });
  await nbd.disconnect(attachment, host);
  assert.deepEqual(host.lines.filter(line => line.includes('disconnect')).length, 2);
});

test('nbd connects a device anew that has grown, and refuses while the device is in use', async () => {
  const { host, attach, resize, use } = openNbd();
  const attachment = attach('v');
  const { path } = await nbd.connect(attachment, host);
  const release = await use(path);
  await nbd.rescan?.(attachment, host);
  resize(attachment, 2 * MiB);
  const rescanned = nbd.rescan?.(attachment, host) ?? Promise.resolve();
  await assert.rejects(rescanned, { code: 'FAILED_PRECONDITION' });
  assert.equal(host.get('/sys/block/nbd0/size'), String(MiB / 512));
  await release();
  await nbd.rescan?.(attachment, host);
  assert.equal(host.get('/sys/block/nbd0/size'), String((2 * MiB) / 512));
});

test('nbd names the kernel that it needs where devices show no export, and leaves none connected', async () => {
  const { host, attach } = openNbd();
  const attachment = attach('v');
  const node = host.tools.get('node');
  assert.ok(node);
  host.tools.set('node', (args, input) => {
    const result = node(args, input);
    host.drop('/sys/block/nbd0/backend');
    return result;
  });
  for (let i = 0; i < 2; i++)
    await assert.rejects(nbd.connect(attachment, host), {
      code: 'FAILED_PRECONDITION',
      detail: /Linux 5\.14/,
    });
  assert.deepEqual(host.names('/sys/block'), ['nbd0']);
  assert.equal(host.get('/sys/block/nbd0/pid'), undefined);
});

test('nbd hands the kernel no name that is longer than it can show, or that is none', async () => {
  const { host, attach } = openNbd();
  for (const name of ['ü'.repeat(170), '/'.repeat(400), 'v'.repeat(1024), 'a\0b', '\ud800']) {
    const attachment = attach(name);
    await assert.rejects(nbd.connect(attachment, host), { code: 'INVALID_ARGUMENT' });
    await nbd.disconnect(attachment, host);
    assert.equal(await nbd.owns(attachment, '43:0', host), false);
  }
  assert.deepEqual(host.lines, ['modprobe --quiet -- nbd']);
  await nbd.connect(attach('v'.repeat(1000)), host);
});

const remote = '07026EC0:2A39';
const established = `  0: 01026EC0:9C40 ${remote} 01 00000000:00000000 00:00000000 00000000     0        0 1\n`;
const closing = established.replace(' 01 ', ' 08 ');

test('nbd has the kernel write what it holds before a device is let go, but not once its server is lost', async () => {
  for (const [text, flushes] of [
    [established, ['blockdev --flushbufs /dev/nbd0']],
    [closing, []],
  ] as const) {
    const { host, attach } = openNbd();
    const attachment = attach('v');
    await nbd.connect(attachment, host);
    host.state.texts.set('/proc/net/tcp', text);
    await nbd.disconnect(attachment, host);
    const lines = host.lines.filter(line => /blockdev|disconnect/.test(line));
    assert.deepEqual(lines.slice(0, -1), flushes);
  }
});

test('nbd connects again what has lost its connection, and nothing else', async () => {
  const { host, attach } = openNbd();
  const attachment = attach('v');
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

/** Connects volumes, and counts what is done from then on. */
async function connectAll(attachments: readonly AttachmentOf<'nbd'>[]) {
  const { host, attach } = openNbd();
  for (const attachment of attachments) {
    attach(attachment.export);
    await nbd.connect(attachment, host);
  }
  host.lines.length = 0;
  return host;
}

function reconnected(host: SysfsHost): readonly string[] {
  return host.lines.flatMap(line => / reconnect \S+ \S+ (\S+)/.exec(line)?.[1] ?? []);
}

test('nbd connects again behind every other port and server when one of them is dead', async () => {
  const attachments = [1, 2, 3].map(number =>
    Object.assign(toExport(`v${number}`), { port: 10_808 + number }),
  );
  const host = await connectAll(attachments);
  const node = host.tools.get('node');
  host.tools.set('node', (args, input) =>
    args[4] === '10809' ? { status: 1, stderr: 'dead' } : (node?.(args, input) ?? 1),
  );
  await assert.rejects(nbd.repair?.(attachments, host) ?? Promise.resolve(), { detail: /dead/ });
  assert.deepEqual(reconnected(host), ['v1', 'v2', 'v3']);
});

test('nbd connects a few volumes again at a time, and looks at each device once', async () => {
  const attachments = Array.from({ length: 12 }, (_, index) => toExport(`v${index}`));
  const host = await connectAll(attachments);
  const [running, most, reads] = [new Set<symbol>(), { count: 0 }, new Map<string, number>()];
  const counting: Host = {
    ...host,
    readText: path => {
      reads.set(path, (reads.get(path) ?? 0) + 1);
      return host.readText(path);
    },
    run: async (...command) => {
      const run = Symbol('run');
      most.count = Math.max(most.count, running.add(run).size);
      await new Promise(setImmediate);
      running.delete(run);
      return host.run(...command);
    },
  };
  await nbd.repair?.(attachments, counting);
  assert.deepEqual([most.count, reconnected(host).length], [4, 12]);
  assert.deepEqual(
    [...reads].filter(([path, count]) => path.endsWith('/backend') && count > 1),
    [],
  );
});

const foreign = established.replace(remote, '0100007F:2A39');
const overIpv6 = established.replace(remote, 'B80D0120000000000000000007000000:2A39');

for (const [server, own] of [
  ['192.110.2.7', established],
  ['2001:DB8:0::7', overIpv6],
] as const)
  test(`nbd takes no connection of somebody else's for its own to ${server}`, async () => {
    const attachment = { ...toExport('v'), server };
    const host = await connectAll([attachment]);
    for (const [text, count] of [
      [own, 0],
      [own + foreign, 0],
      [foreign, 1],
    ] as const) {
      host.state.texts.set('/proc/net/tcp', text);
      await nbd.repair?.([attachment], host);
      assert.equal(reconnected(host).length, count);
    }
  });

test("nbd connects again now and then what somebody else's connection to a named host may hide", async () => {
  const attachment = toExport('v');
  const host = await connectAll([attachment]);
  host.state.texts.set('/proc/net/tcp', foreign);
  const repair = createRepair();
  for (let round = 1; round <= 60; round++) await repair([attachment], host);
  assert.equal(reconnected(host).length, 2);
});
