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

test('the connections of all volumes that are recorded are seen to, and a failure is logged', async () => {
  const { host, volumes } = openNbdWorld();
  const { state } = host;
  state.paths.set('/state', 'directory');
  const records = await openRecords('/state/volumes', host);
  for (const [name, attachment] of Object.entries(attachments))
    await records.put({
      volumeId: `c.${name}`,
      attachment,
      stagingPath: `/stage/${name}`,
      capability: { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' },
      targets: [],
    });
  for (const name of ['one', 'two'] as const) {
    volumes.set(name, { name, sizeBytes: common.sizeBytes });
    await nbd.connect(attachments[name], host);
  }
  const before = host.lines.length;
  const warnings: string[] = [];
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  await repair({ host, records, log });
  assert.deepEqual(
    host.lines.slice(before).map(line => /reconnect nbd.test (\d+)/.exec(line)?.[1]),
    ['10809', '10810'],
  );
  assert.deepEqual(warnings, []);
  volumes.clear();
  await repair({ host, records, log });
  assert.deepEqual(warnings, ['connections over nbd could not be repaired']);
});

test('a command that could not be killed is waited for, and no other is started beside it', async () => {
  const { host, volumes } = openNbdWorld();
  host.state.paths.set('/state', 'directory');
  const records = await openRecords('/state/volumes', host);
  const attachment = attachments.one;
  const capability = { accessType: 'mount', accessMode: 'SINGLE_NODE_WRITER' } as const;
  await records.put({ volumeId: 'c.one', attachment, stagingPath: '/s', capability, targets: [] });
  volumes.set('one', { name: 'one', sizeBytes: common.sizeBytes });
  await nbd.connect(attachment, host);
  const { promise: gone, resolve: go } = Promise.withResolvers<void>();
  host.tools.set('node', () => ({ status: undefined, timedOut: true, gone }));
  const before = host.lines.length;
  const [watch, look] = [createWatch(), { host, records, log: silentLog }];
  for (let i = 0; i < 3; i++) await repair(look, watch);
  assert.equal(host.lines.length, before + 1);
  go();
  await gone;
  await repair(look, watch);
  assert.equal(host.lines.length, before + 2);
});
