import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AttachmentOf } from '../../../../src/api/attachment.ts';
import { nbd } from '../../../../node-agent/connectors/nbd.ts';
import { createRepair } from '../../../../node-agent/connectors/nbd/repair.ts';
import type { Host } from '../../../../node-agent/host.ts';
import { testConnector, testConnectorFaults } from '../../../suites/connector.ts';
import { MiB, openNbd, toExport } from './worlds.ts';

testConnector({ name: 'nbd', connector: nbd, open: openNbd });
testConnectorFaults({ name: 'nbd', connector: nbd, open: openNbd });

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

test('nbd refuses an export that is connected twice, and disconnects both', async () => {
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

test('nbd takes a device whose connection was ended for what is left of a volume, and no other', async () => {
  const { host, attach } = openNbd();
  const attachment = attach('v');
  const { number } = await nbd.connect(attachment, host);
  const isLeftover = (one = number) => nbd.isLeftover?.(attachment, one, host);
  assert.equal(await isLeftover(), false);
  host.put('/sys/block/nbd0/backend', 'nbd://nbd.test:10809/other');
  assert.equal(await isLeftover(), false);
  host.drop('/sys/block/nbd0/backend');
  assert.equal(await isLeftover(), false);
  host.drop('/sys/block/nbd0/pid');
  assert.equal(await isLeftover(), true);
  assert.equal(await isLeftover('8:0'), false);
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
  const { host, attach, left } = openNbd();
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
  assert.deepEqual(left(), []);
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

/** What the kernel shows of a connection to port 10809. */
function connectionTo(address: string, state = '01'): string {
  return `  0: 01026EC0:9C40 ${address}:2A39 ${state} 00000000:00000000 00:00000000 00000000     0        0 1\n`;
}

const established = connectionTo('076E02C0');
const closing = connectionTo('076E02C0', '08');
const foreign = connectionTo('0100007F');
const overIpv6 = connectionTo('B80D0120000000000000000007000000');

test('nbd has the kernel write what it holds before it disconnects, but not once its server is lost', async () => {
  for (const [text, flushes] of [
    [established, ['blockdev --flushbufs /dev/nbd0']],
    [closing, []],
  ] as const) {
    const { host, attachments } = await connectAll([toExport('v')]);
    host.state.texts.set('/proc/net/tcp', text);
    for (const attachment of attachments) await nbd.disconnect(attachment, host);
    assert.deepEqual(host.lines.slice(0, -1), flushes);
  }
});

/** Connects volumes; what is done from then on is counted, and they are repaired as often as is asked. */
async function connectAll(attachments: readonly AttachmentOf<'nbd'>[]) {
  const { host, attach } = openNbd();
  const repair = createRepair();
  await repair(attachments, host);
  assert.deepEqual(host.lines, []);
  for (const attachment of attachments) {
    attach(attachment.export);
    await nbd.connect(attachment, host);
  }
  host.lines.length = 0;
  return {
    host,
    attachments,
    repair: (machine: Host = host) => repair(attachments, machine),
    reconnected: () => host.lines.flatMap(line => / reconnect \S+ \S+ (\S+)/.exec(line)?.[1] ?? []),
  };
}

const own = { 'nbd.test': established, '192.2.110.7': established, '2001:DB8:0::7': overIpv6 };
for (const [server, text] of Object.entries(own))
  test(`nbd connects again to ${server} what has lost its connection, and nothing else`, async () => {
    const { host, repair, reconnected } = await connectAll([{ ...toExport('v'), server }]);
    for (const [shown, count] of [
      [text + foreign, 0],
      [closing, 1],
      [text, 1],
    ] as const) {
      host.state.texts.set('/proc/net/tcp', shown);
      await repair();
      assert.equal(reconnected().length, count);
    }
    assert.match(host.lines.at(-1) ?? '', /link.ts reconnect \S+ 10809 v \S+ rw 0$/);
  });

test("nbd takes no other's connection to an address for its own, and to a named host only for a while", async () => {
  for (const [server, count] of Object.entries({ '192.2.110.7': 60, 'nbd.test': 2 })) {
    const { host, repair, reconnected } = await connectAll([{ ...toExport('v'), server }]);
    host.state.texts.set('/proc/net/tcp', foreign);
    for (let round = 1; round <= 60; round++) await repair();
    assert.equal(reconnected().length, count);
  }
});

test('nbd connects again behind every other port and server when one of them is dead', async () => {
  const volumes = [1, 2, 3].map(number => toExport(`v${number}`, 10_808 + number));
  const { host, repair, reconnected } = await connectAll(volumes);
  const node = host.tools.get('node');
  host.tools.set('node', (args, input) =>
    args[4] === '10809' ? { status: 1, stderr: 'dead' } : (node?.(args, input) ?? 1),
  );
  await assert.rejects(repair(), { detail: /dead/ });
  assert.deepEqual(reconnected(), ['v1', 'v2', 'v3']);
});

test('nbd connects a few volumes again at a time, and looks at each device once', async () => {
  const volumes = Array.from({ length: 12 }, (_, index) => toExport(`v${index}`));
  const { host, repair, reconnected } = await connectAll(volumes);
  let [running, most] = [0, 0];
  const reads: string[] = [];
  await repair({
    ...host,
    readText: path => {
      reads.push(path);
      return host.readText(path);
    },
    run: async (...command) => {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running--;
      return host.run(...command);
    },
  });
  assert.deepEqual([most, reconnected().length], [4, 12]);
  assert.equal(reads.filter(path => path.endsWith('/backend')).length, 12);
});
