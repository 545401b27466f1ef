import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toCsv } from '../../../src/cli/output/csv.ts';
import { openTable, renderTable } from '../../../src/cli/output/table.ts';
import { toAge, toSize } from '../../../src/cli/output/values.ts';

test('columns are as wide as their widest cell, and never become narrower', () => {
  const rows = [
    ['a.long', 'ready'],
    ['b', ''],
  ];
  assert.equal(renderTable(['id', 'state'], rows), 'id      state\na.long  ready\nb\n');
  assert.equal(renderTable([], [['b', 'x']], { hasHeads: false, widths: [4] }), 'b     x\n');
});

test('rows line up with wider rows above them, whose cells are measured as they are printed', () => {
  const print = openTable(['id', 'x']);
  // A cell that is printed on one line is shorter than its text.
  const [cell, printed] = ['a\n\n\nb', 'a b'];
  assert.equal(print([[cell, '1']]), `id   x\n${printed}  1\n`);
  assert.equal(print([['c', '2']]), 'c    2\n');
});

test('a table may have more rows than a call has room for arguments', () => {
  const rows = Array.from({ length: 300_000 }, (_, index) => [String(index)]);
  assert.equal(renderTable(['id'], rows).length, 'id\n'.length + rows.join('\n').length + 1);
});

test('foreign text cannot control the terminal or begin a line', () => {
  const cell = '\u001B[31mred\u001B[0m \u001B]0;title\u0007two\nlines\u009B2J\u202E\r';
  const table = renderTable(['fault'], [[cell]]);
  assert.equal(table.split('\n').length, 3);
  assert.doesNotMatch(table.replaceAll('\n', ''), /[\p{Cc}\u202E]/u);
  assert.match(table, /red.*two lines/);
});

test('a CSV field with a comma, a quote or an outer space is quoted, and stays on its line', () =>
  assert.equal(toCsv([['a,b', 'say "x"', ' c', 'd\ne', '', 'f g']]), '"a,b","say ""x"""," c",d e,,f g\n'));

for (const [bytes, text] of [
  [0, '0'],
  [1_023, '1023'],
  [1_024, '1Ki'],
  [1_610_612_736, '1.5Gi'],
  [2 ** 40 - 1, '1023.9Gi'],
  [2 ** 53, '8Pi'],
] as const)
  test(`${bytes} bytes are ${text}`, () => assert.equal(toSize(bytes), text));

for (const [ms, text] of [
  [-5, '0s'],
  [59_999, '59s'],
  [60_000, '1m'],
  [7_200_000, '2h'],
  [200_000_000, '2d'],
] as const)
  test(`${ms} ms are ${text}`, () => assert.equal(toAge(ms), text));
