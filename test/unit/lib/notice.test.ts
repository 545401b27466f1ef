import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createNotices, type Progress, withNotice } from '../../../src/lib/words/notice.ts';

const store = { what: 'the store' };
const rows = { what: 'the copy', done: 50, total: 200, unit: 'rows' };
const full = { what: 'the copy', done: 200, total: 200 };
const empty = { what: 'the copy', done: 0, total: 0, unit: 'rows' };

for (const [title, progress, columns, shown] of [
  ['without a terminal, is a line', store, undefined, 'p: waiting for the store (12 s)\n'],
  ['without a terminal, has counts', rows, undefined, 'p: waiting for the copy: 50 of 200 rows (12 s)\n'],
  ['on a terminal, replaces its line', store, 80, '<1G><2K>waiting for the store (12 s)'],
  [
    'on a terminal, has a bar for counts',
    rows,
    80,
    '<1G><2K>[#####---------------] waiting for the copy: 50 of 200 rows (12 s)',
  ],
  [
    'on a terminal, may be at its end',
    full,
    80,
    '<1G><2K>[####################] waiting for the copy: 200 of 200 (12 s)',
  ],
  [
    'on a terminal, may have nothing to count',
    empty,
    80,
    '<1G><2K>[--------------------] waiting for the copy: 0 of 0 rows (12 s)',
  ],
  ['on a narrow terminal, is cut to one line', rows, 10, '<1G><2K>[#####---'],
] as const)
  test(`a notice, ${title}`, () => {
    const { written, notices } = open(columns);
    notices.show(progress, 12_300);
    assert.equal(written.join(''), shown);
  });

for (const [title, columns, sooner, later] of [
  ['as a line every 10 s', undefined, 1, 2],
  ['on a terminal, where its line changes all the time and then goes', 80, 1, 21],
] as const)
  test(`a long wait is announced within 2 s, ${title}, and a short one is not`, async t => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
    const { written, notices } = open(columns);
    const { promise, resolve } = Promise.withResolvers<number>();
    let progress: Progress = store;
    const waiting = withNotice(promise, () => progress, notices);
    t.mock.timers.tick(1_000);
    assert.deepEqual(written, []);
    t.mock.timers.tick(1_000);
    assert.equal(written.length, sooner);
    assert.match(written[0] ?? '', /waiting for the store/);
    progress = rows;
    t.mock.timers.tick(10_000);
    assert.equal(written.length, later);
    assert.match(written.at(-1) ?? '', /50 of 200 rows/);
    resolve(7);
    assert.equal(await waiting, 7);
    if (columns !== undefined) assert.equal(written.pop(), '<1G><2K>');
    t.mock.timers.tick(60_000);
    assert.equal(written.length, later);
    assert.equal(await withNotice(promise, rows, notices), 7);
    assert.equal(written.length, later);
  });

test('work fails as it would without notices', async () => {
  const { notices } = open();
  await assert.rejects(withNotice(Promise.reject(new Error('broken')), store, notices), /^Error: broken$/);
  assert.equal(await withNotice(Promise.resolve(1), store, undefined), 1);
});

/** Collects notices. Control sequences are shown in angle brackets. */
function open(columns?: number) {
  const written: string[] = [];
  const write = (text: string): void => void written.push(text);
  return { written, notices: createNotices({ write, prefix: 'p: ', columns, steer }) };
}

function steer(sequences: string): string {
  return sequences.replaceAll('\u001B[1G', '<1G>').replaceAll('\u001B[2K', '<2K>');
}
