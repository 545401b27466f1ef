import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { nbd } from '../../../node-agent/connectors/nbd.ts';
import { identityOf } from '../../../node-agent/connectors/nbd/exports.ts';
import { createMachine } from '../../../node-agent/host/linux.ts';
import { Problem } from '../../../src/api/problem.ts';
import { bringUp, startGuestNode, takeDown } from './agent.ts';
import { asBlock, connectionsTo, expand, MiB, mounted, portsOf, roomAt } from './nbd-growth.ts';
import { openNbdServer } from './nbd-server.ts';
import { findWrong, startVersions } from './version-writer.ts';

const host = createMachine({ timeoutMs: 60_000 });

/** The process that speaks with the kernel while a device grows; undefined when there is none. */
function findLink(): number | undefined {
  const file = globSync('/proc/[0-9]*/cmdline').find(each => {
    try {
      return readFileSync(each, 'utf8').includes('/nbd/link.ts\0grow\0');
    } catch {
      return false;
    }
  });
  return file === undefined ? undefined : Number(file.split('/')[2]);
}

/** When the link is killed: at once, when it has ended the connection, and when there is another. */
const moments: readonly ((ports: readonly number[], before: readonly number[]) => boolean)[] = [
  () => true,
  ports => ports.length === 0,
  (ports, before) => ports.length === 1 && ports[0] !== before[0],
];

test('a growth that is killed on its way loses nothing, and is done by the next call', async t => {
  const node = await startGuestNode(t);
  const server = openNbdServer(t);
  const attachment = server.makeVolume('one', 64 * MiB);
  await server.start();
  const fields = mounted(node, attachment, 'ext4');
  await bringUp(node, fields);
  const name = join(fields.target_path, 'versions');
  const writer = await startVersions(name);
  for (const [index, isNow] of moments.entries()) {
    const sizeBytes = (index + 2) * 64 * MiB;
    const before = await portsOf(0);
    server.resize(attachment, sizeBytes);
    const growing = expand(node, fields, sizeBytes).catch((error: unknown) => error);
    let link = findLink();
    while (link === undefined || (findLink() === link && !isNow(await portsOf(0), before))) {
      await sleep(20);
      link ??= findLink();
    }
    // One that has ended already has done its work.
    if (findLink() === link) process.kill(link, 'SIGKILL');
    const outcome = await growing;
    assert.ok(outcome === sizeBytes || outcome instanceof Problem, String(outcome));
    assert.equal(await expand(node, fields, sizeBytes), sizeBytes);
    assert.ok(roomAt(fields.target_path) > 0.8 * sizeBytes);
  }
  const versions = await writer.finish();
  await takeDown(node, fields);
  await bringUp(node, fields);
  assert.deepEqual(findWrong(name, versions), []);
  await takeDown(node, fields);
});

test('a volume whose server tells the old size, or cannot be left safely, stays as it is', async t => {
  const node = await startGuestNode(t);
  const server = openNbdServer(t);
  const attachment = server.makeVolume('one', 64 * MiB);
  const copied = server.makeVolume('copied', 64 * MiB, ['copyonwrite = true']);
  await server.start();
  for (const { volume, code, says } of [
    { volume: attachment, code: 'UNAVAILABLE', says: /not yet the 134217728/ },
    { volume: copied, code: 'FAILED_PRECONDITION', says: /does not promise/ },
  ]) {
    const fields = mounted(node, volume, 'ext4');
    await bringUp(node, fields);
    const before = await portsOf(0);
    if (volume === copied) server.resize(volume, 128 * MiB);
    await assert.rejects(expand(node, fields, 128 * MiB), { code, detail: says });
    assert.deepEqual(await portsOf(0), before);
    writeFileSync(join(fields.target_path, 'file'), 'kept', { flush: true });
    assert.ok(roomAt(fields.target_path) < 64 * MiB);
    await takeDown(node, fields);
  }
});

const linkProgram = fileURLToPath(new URL('../../../node-agent/connectors/nbd/link.ts', import.meta.url));

/** Runs the link without a capability. */
function runWithout(capability: string, line: readonly string[]) {
  const drop = ['--bounding-set', `-${capability}`, '--inh-caps', `-${capability}`];
  return spawnSync('setpriv', [...drop, '--', process.execPath, linkProgram, ...line], { encoding: 'utf8' });
}

test('a connection that may not be ended, or is not known to be the own one, is left alone', async t => {
  const server = openNbdServer(t);
  const attachment = server.makeVolume('one', 64 * MiB);
  await server.start();
  const { server: address, port, export: name } = attachment;
  const rest = [address, String(port), name, identityOf(attachment), 'rw'];
  assert.equal(runWithout('chown', ['connect', ...rest]).status, 0);
  server.resize(attachment, 128 * MiB);
  const unknown = await connectionsTo(attachment);
  assert.deepEqual(await portsOf(0), []);
  const refused = runWithout('chown', ['grow', ...rest, '0']);
  assert.deepEqual([refused.status, refused.stderr.includes('cannot be told from others')], [2, true]);
  assert.deepEqual(await connectionsTo(attachment), unknown);
  await nbd.disconnect(attachment, host);
  server.resize(attachment, 64 * MiB);
  await nbd.connect(attachment, host);
  const before = await portsOf(0);
  assert.equal(before.length, 1);
  server.resize(attachment, 128 * MiB);
  const forbidden = runWithout('net_admin', ['grow', ...rest, '0']);
  assert.deepEqual([forbidden.status, forbidden.stderr.includes('may not end')], [2, true]);
  assert.deepEqual(await portsOf(0), before);
  assert.equal(readFileSync('/sys/block/nbd0/size', 'utf8').trim(), String((64 * MiB) / 512));
  await nbd.disconnect(attachment, host);
});

test('a block volume that is published grows, too, and over IPv6', async t => {
  const node = await startGuestNode(t);
  const server = openNbdServer(t, '::1');
  const attachment = server.makeVolume('one', 64 * MiB);
  await server.start();
  const fields = asBlock(node, attachment);
  await bringUp(node, fields);
  const before = await portsOf(0);
  server.resize(attachment, 128 * MiB);
  assert.equal(await expand(node, fields, 128 * MiB), 128 * MiB);
  assert.notDeepEqual(await portsOf(0), before);
  await takeDown(node, fields);
});
