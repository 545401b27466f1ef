import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openNewestAttachments } from '../../../../node-agent/state/newest-attachments.ts';
import { createFakeHost } from '../../../fakes/host.ts';
import { addDirectory } from '../../../fakes/state.ts';

const path = '/state/newest.jsonl';

/** An agent's machine, on which one agent follows another. */
function open() {
  const host = createFakeHost();
  addDirectory(host.state, '/state');
  return {
    host,
    start: (over: Partial<typeof host> = {}) => openNewestAttachments(path, { ...host, ...over }),
    text: (): string => host.state.texts.get(path) ?? '',
  };
}

test('of each volume the last attachment is what the next agent knows, and a repeated one is not written again', async () => {
  const { start, text } = open();
  const newest = await start();
  for (const [volumeId, attachmentId] of [
    ['a.one', 'at1'],
    ['a.two', 'at2'],
    ['a.one', 'at3'],
    ['a.one', 'at3'],
  ] as const)
    await newest.note(volumeId, attachmentId);
  assert.equal(text().trim().split('\n').length, 3);
  const next = await start();
  assert.deepEqual(['a.one', 'a.two', 'a.three'].map(next.get), ['at3', 'at2', undefined]);
});

test('of 5,000 volumes the file never has more than 2,000 lines, and the last 1,000 are known', async () => {
  const { start, text } = open();
  const newest = await start();
  let most = 0;
  for (let count = 1; count <= 5_000; count++) {
    await newest.note(`a.${count}`, `at${count}`);
    most = Math.max(most, text().trim().split('\n').length);
  }
  assert.ok(most <= 2_000, `${most} lines`);
  const next = await start();
  assert.deepEqual(
    [4_000, 4_001, 5_000].map(count => next.get(`a.${count}`)),
    [undefined, 'at4001', 'at5000'],
  );
});

test('a line that a crash tore hides neither those before it nor what is noted next', async () => {
  const { host, start, text } = open();
  await (await start()).note('a.one', 'at1');
  host.state.texts.set(path, `${text()}["a.tw`);
  await (await start()).note('a.two', 'at2');
  const next = await start();
  assert.deepEqual(['a.one', 'a.two'].map(next.get), ['at1', 'at2']);
});

test('what cannot be noted is UNAVAILABLE, and noted by the retry', async () => {
  const { host, start, text } = open();
  const fails = [true, false];
  const newest = await start({
    append: async (to, added) => {
      if (!fails.shift()) return host.append(to, added);
      await host.append(to, added.slice(0, 5));
      throw Object.assign(new Error('full'), { code: 'ENOSPC' });
    },
  });
  await assert.rejects(newest.note('a.one', 'at1'), { code: 'UNAVAILABLE', detail: /"a.one": ENOSPC$/ });
  assert.equal(newest.get('a.one'), undefined);
  await newest.note('a.one', 'at1');
  await newest.note('a.two', 'at2');
  assert.equal(text(), '["a.one","at1"]\n["a.two","at2"]\n');
});
