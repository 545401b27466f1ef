import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Rule } from '../../../fakes/faulty-backend/rules.ts';
import { mounted, volumeSpec } from '../../../harness/gateway-harness.ts';
import { askPatiently, callWithin, effectsOf, prepareDirectory, startProcess, type Ask } from '../process.ts';

const mebibyte = 2 ** 20;
const id = 'a.one';
const attachmentSpec = { capability: mounted, readonly: false };
const attachment = { volumeId: id, nodeId: 'n1' };

/** In the order of a volume's life; `effect` is what the storage does. */
const steps: readonly { readonly effect: string; readonly ask: Ask }[] = [
  {
    effect: 'create a.one',
    ask: (client, call) => {
      const topology = { requisite: [{ zone: 'b' }, { zone: 'a' }], preferred: [{ zone: 'b' }] };
      return client.createVolume({ volumeId: id, body: volumeSpec('one', { topology }) }, call);
    },
  },
  {
    effect: 'attach a.one',
    ask: (client, call) => client.attachVolume({ ...attachment, body: attachmentSpec }, call),
  },
  { effect: 'detach a.one', ask: (client, call) => client.detachVolume(attachment, call) },
  {
    effect: 'expand a.one',
    ask: (client, call) => client.expandVolume({ volumeId: id, body: { requiredBytes: 2 * mebibyte } }, call),
  },
  {
    effect: 'snapshot a.cut',
    ask: (client, call) =>
      client.createSnapshot({ snapshotId: 'a.cut', body: { name: 'cut', volumeId: id } }, call),
  },
  {
    effect: 'create a.copy',
    ask: (client, call) => {
      const spec = { requiredBytes: 2 * mebibyte, source: { kind: 'volume', volumeId: id } } as const;
      return client.createVolume({ volumeId: 'a.copy', body: volumeSpec('copy', spec) }, call);
    },
  },
  {
    effect: 'modify a.one',
    ask: (client, call) =>
      client.modifyVolume({ volumeId: id, body: { mutableParameters: { preallocate: 'true' } } }, call),
  },
  {
    effect: 'group a.one a.copy',
    ask: (client, call) =>
      client.createGroup({ groupId: 'a.both', body: { name: 'both', volumeIds: [id, 'a.copy'] } }, call),
  },
  {
    effect: 'snapshot-delete a.cut',
    ask: (client, call) => client.deleteSnapshot({ snapshotId: 'a.cut' }, call),
  },
  { effect: 'delete a.one', ask: (client, call) => client.deleteVolume({ volumeId: id }, call) },
];

test('two gateways that are asked the same ten times at once, and ten times more, do each thing once', async t => {
  const directory = prepareDirectory(t);
  const slow: readonly Rule[] = [{ on: 'all', every: 1, fault: 'latency', leastMs: 20, mostMs: 80 }];
  const processes = [await startProcess(t, directory, slow), await startProcess(t, directory, slow)] as const;
  for (const { effect, ask } of steps) {
    const callers = Array.from({ length: 10 }, (_, index) => processes[index % 2 === 0 ? 0 : 1]);
    const answers = await Promise.all(callers.map(caller => askPatiently(caller, ask)));
    for (const caller of callers) answers.push(await ask(caller.client, callWithin(10_000)));
    for (const answer of answers) assert.deepEqual(answer, answers[0], effect);
  }
  assert.deepEqual(
    effectsOf(directory),
    steps.map(({ effect }) => effect),
  );
});
