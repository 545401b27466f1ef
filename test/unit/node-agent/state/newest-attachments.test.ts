import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openNewestAttachments } from '../../../../node-agent/state/newest-attachments.ts';
import { createFakeHost } from '../../../fakes/host.ts';
import { addDirectory } from '../../../fakes/state.ts';

const directory = '/state/newest';

/** Opens a machine for several agents, one after another. */
function open() {
  const host = createFakeHost();
  addDirectory(host.state, '/state');
  const { texts } = host.state;
  return {
    host,
    start: (over: Partial<typeof host> = {}) => openNewestAttachments(directory, { ...host, ...over }),
    /** Lists the files of the directory by path. */
    files: () => [...texts].filter(([path]) => path.startsWith(directory)),
    lineCount: () => [...texts.values()].join('').split('\n').length - 1,
  };
}

test("the next agent knows each volume's last attachment, and a repeated one is not written again", async () => {
  const { start, lineCount } = open();
  const newest = await start();
  for (const [volumeId, attachmentId] of [
    ['a.one', 'at1'],
    ['a.two', 'at2'],
    ['a.one', 'at3'],
    ['a.one', 'at3'],
  ] as const)
    await newest.note(volumeId, attachmentId);
  assert.equal(lineCount(), 3);
  const next = await start();
  assert.deepEqual(await Promise.all(['a.one', 'a.two', 'a.three'].map(next.get)), ['at3', 'at2', undefined]);
});

test('none of 5,000 volumes is forgotten', async () => {
  const { start } = open();
  const newest = await start();
  for (let count = 1; count <= 5_000; count++) await newest.note(`a.${count}`, `at${count}`);
  const next = await start();
  for (let count = 1; count <= 5_000; count++) assert.equal(await next.get(`a.${count}`), `at${count}`);
});

test('1,000 attachments of one volume leave a short file', async () => {
  const { start, lineCount } = open();
  const newest = await start();
  for (let count = 1; count <= 1_000; count++) await newest.note('a.one', `at${count}`);
  assert.ok(lineCount() < 30, `${lineCount()} lines`);
  assert.equal(await (await start()).get('a.one'), 'at1000');
});

test('a line that a crash cut off hides neither earlier nor later notes', async () => {
  const { host, start, files } = open();
  await (await start()).note('a.one', 'at1');
  const [[path, text] = ['', '']] = files();
  host.state.texts.set(path, `${text}["a.on`);
  assert.equal(await (await start()).get('a.one'), 'at1');
  await (await start()).note('a.one', 'at2');
  assert.equal(await (await start()).get('a.one'), 'at2');
});

test('a note that cannot be written is UNAVAILABLE, and the retry writes it', async () => {
  const { host, start } = open();
  const fails = [true, false];
  const newest = await start({
    append: async (to, added) => {
      if (!fails.shift()) return host.append(to, added);
      await host.append(to, added.slice(0, 5));
      throw Object.assign(new Error('full'), { code: 'ENOSPC' });
    },
  });
  await assert.rejects(newest.note('a.one', 'at1'), {
    code: 'UNAVAILABLE',
    detail: /"a.one": it is on a full disk$/,
  });
  assert.equal(await newest.get('a.one'), undefined);
  await newest.note('a.one', 'at1');
  await newest.note('a.two', 'at2');
  const next = await start();
  assert.deepEqual(await Promise.all(['a.one', 'a.two'].map(next.get)), ['at1', 'at2']);
});

test('notes that cannot be read are UNAVAILABLE', async () => {
  const { start } = open();
  const newest = await start({
    readText: async path => {
      if (!path.startsWith(`${directory}/`)) return undefined;
      throw Object.assign(new Error('broken'), { code: 'EIO' });
    },
  });
  await assert.rejects(newest.get('a.one'), {
    code: 'UNAVAILABLE',
    detail: /"a.one": it cannot be read or written: its disk reports errors$/,
  });
});

test('the notes that an earlier release wrote into one file are still known', async () => {
  const { host, start } = open();
  await host.append(`${directory}.jsonl`, '["a.one","at1"]\n["a.two","at2"]\n["a.one","at3"]\n["a.th');
  for (let agent = 0; agent < 2; agent++) {
    const newest = await start();
    assert.deepEqual(await Promise.all(['a.one', 'a.two'].map(newest.get)), ['at3', 'at2']);
  }
  assert.equal(host.state.texts.has(`${directory}.jsonl`), false);
});
