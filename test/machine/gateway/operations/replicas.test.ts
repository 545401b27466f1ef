import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Rule } from '../../../fakes/faulty-backend/rules.ts';
import { mounted, volumeSpec } from '../../../harness/gateway.ts';
import { callWithin, runGateway } from '../../../harness/gateway/program.ts';
import { askPatiently, effectsOf, prepareDirectory, type Ask } from '../process.ts';

const mebibyte = 2 ** 20;
const id = 'a.one';
const attachmentSpec = { capability: mounted, readonly: false };
const attachment = { volumeId: id, nodeId: 'n1' };
const topology = { requisite: [{ zone: 'b' }, { zone: 'a' }], preferred: [{ zone: 'b' }] };
const larger = { requiredBytes: 2 * mebibyte };
const copied = volumeSpec('copy', { ...larger, source: { kind: 'volume', volumeId: id } });
const tuned = { mutableParameters: { preallocate: 'true' } };
const cut = { name: 'cut', volumeId: id };
const both = { name: 'both', volumeIds: [id, 'a.copy'] };

/** The changes of the storage in the order of a volume's life, with the request of each. */
const steps: Readonly<Record<string, Ask>> = {
  'create a.one': (client, call) =>
    client.createVolume({ volumeId: id, body: volumeSpec('one', { topology }) }, call),
  'attach a.one': (client, call) => client.attachVolume({ ...attachment, body: attachmentSpec }, call),
  'detach a.one': (client, call) => client.detachVolume(attachment, call),
  'expand a.one': (client, call) => client.expandVolume({ volumeId: id, body: larger }, call),
  'snapshot a.cut': (client, call) => client.createSnapshot({ snapshotId: 'a.cut', body: cut }, call),
  'create a.copy': (client, call) => client.createVolume({ volumeId: 'a.copy', body: copied }, call),
  'modify a.one': (client, call) => client.modifyVolume({ volumeId: id, body: tuned }, call),
  'group a.one a.copy': (client, call) => client.createGroup({ groupId: 'a.both', body: both }, call),
  'snapshot-delete a.cut': (client, call) => client.deleteSnapshot({ snapshotId: 'a.cut' }, call),
  'delete a.one': (client, call) => client.deleteVolume({ volumeId: id }, call),
};

test('two gateways that get the same request ten times at once, and ten times more, make each change once', async t => {
  const directory = await prepareDirectory(t);
  const slow: readonly Rule[] = [{ on: 'all', every: 1, fault: 'latency', minMs: 20, maxMs: 80 }];
  const processes = [
    await runGateway(t, { directory, faults: slow }),
    await runGateway(t, { directory, faults: slow }),
  ] as const;
  for (const [effect, ask] of Object.entries(steps)) {
    const callers = Array.from({ length: 10 }, (_, index) => processes[index % 2 === 0 ? 0 : 1]);
    const answers = await Promise.all(callers.map(caller => askPatiently(caller, ask)));
    for (const caller of callers) answers.push(await ask(caller.client, callWithin(10_000)));
    for (const answer of answers) assert.deepEqual(answer, answers[0], effect);
  }
  assert.deepEqual(effectsOf(directory), Object.keys(steps));
});
