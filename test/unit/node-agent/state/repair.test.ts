import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openRecords } from '../../../../node-agent/state/records.ts';
import { repair } from '../../../../node-agent/state/repair.ts';
import { createWatch } from '../../../../node-agent/host/stuck-commands.ts';
import type { Attachment } from '../../../../src/api/attachment.ts';
import { silentLog } from '../../../../src/lib/log.ts';
import { openNbdWorld } from '../../../fakes/disks.ts';
import { nbd } from '../../../../node-agent/connectors/nbd.ts';

const common = { attachmentId: 'a', sizeBytes: 1_048_576, readonly: false, mayFormat: true };
const attachments = {
  one: { ...common, protocol: 'nbd', server: 'nbd.test', port: 10_809, export: 'one' },
  two: { ...common, protocol: 'nbd', server: 'nbd.test', port: 10_810, export: 'two' },
  shared: { ...common, protocol: 'nfs', server: 'nfs.test', path: '/v' },
  file: { ...common, protocol: 'loop', path: '/images/v' },
} as const satisfies Readonly<Record<string, Attachment>>;

/** A machine with the records of these volumes, of which those over NBD are connected. */
async function open(names: readonly (keyof typeof attachments)[]) {
  const { host, volumes } = openNbdWorld();
  host.state.paths.set('/state', 'directory');
  const records = await openRecords('/state/volumes', host);
  const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' } as const;
  for (const name of names) {
    const attachment = attachments[name];
    await records.put({ volumeId: name, attachment, stagingPath: `/stage/${name}`, capability, targets: [] });
    if (attachment.protocol !== 'nbd') continue;
    volumes.set(name, { name, sizeBytes: common.sizeBytes });
    await nbd.connect(attachment, host);
  }
  return { host, records, volumes, before: host.lines.length };
}

test('the connections of all volumes that are recorded are seen to, and a failure is logged', async () => {
  const { host, records, volumes, before } = await open(['one', 'two', 'shared', 'file']);
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  await repair({ host, records, log });
  const ports = host.lines.slice(before).map(line => /reconnect nbd.test (\d+)/.exec(line)?.[1]);
  assert.deepEqual(ports, ['10809', '10810']);
  assert.deepEqual(warnings, []);
  volumes.clear();
  await repair({ host, records, log });
  assert.deepEqual(warnings, ['connections over nbd could not be repaired']);
});

test('a command that could not be killed is waited for, and no other is started beside it', async () => {
  const { host, records, before } = await open(['one']);
  const { promise: gone, resolve: go } = Promise.withResolvers<void>();
  host.tools.set('node', () => ({ status: undefined, timedOut: true, gone }));
  const [watch, look] = [createWatch(), { host, records, log: silentLog }];
  for (let i = 0; i < 3; i++) await repair(look, watch);
  assert.equal(host.lines.length, before + 1);
  go();
  await gone;
  await repair(look, watch);
  assert.equal(host.lines.length, before + 2);
});
