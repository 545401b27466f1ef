import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { createPageGuard } from '../../../../src/api/http/page-guard.ts';
import { maxTextBytes, toPrintable } from '../../../../src/api/http/printable.ts';
import { Problem, unavailableProblem } from '../../../../src/api/problem.ts';

const steering: readonly (readonly [text: string, shown: string])[] = [
  ['plain "text" of é, 字 and 🙂', 'plain "text" of é, 字 and 🙂'],
  ['\u001B[2J\u001B]0;title\u0007', '?[2J?]0;title?'],
  ['\u009B31m', '?31m'],
  ['one\r\nok: two\n\n\tthree', 'one ok: two three'],
  ['a\u2028b\u2029c', 'a b c'],
  ['safe\u202Egnp.exe\u2066\u200F', 'safe?gnp.exe??'],
  ['zero\u200Bwidth\uFEFF', 'zero?width?'],
  ['half \uD800 of one', 'half \uFFFD of one'],
  ['\0\b\u007F', '???'],
];

test('foreign text controls no terminal, is on one line, and is otherwise unchanged', () => {
  for (const [text, shown] of steering) assert.equal(toPrintable(text), shown);
});

test('any text becomes printable text of bounded length', () => {
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 1_000 }), fc.string({ unit: 'grapheme' }));
  fc.assert(
    fc.property(text, fc.integer({ min: 16, max: 1_500 }), (given, maxBytes) => {
      const shown = toPrintable(given, maxBytes);
      assert.ok(Buffer.byteLength(shown) <= maxBytes);
      assert.doesNotMatch(shown, /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202A-\u202E\u2066-\u2069]/u);
      assert.equal(toPrintable(shown, maxBytes), shown);
    }),
  );
});

test('a problem of any origin has at most 4 KiB of printable lines', () => {
  const { detail, message } = unavailableProblem(`\u001B[31m${'é'.repeat(2 ** 20)}`);
  assert.deepEqual([detail, Buffer.byteLength(detail) <= maxTextBytes], [message, true]);
  assert.match(detail, /^\?\[31mé+…$/);
  assert.equal(new Problem('NOT_FOUND', 'there is no "a"\nhere').detail, 'there is no "a"\nhere');
});

const endless: Readonly<Record<string, (page: number) => readonly [count: number, next: string]>> = {
  'leads to itself': () => [1, 'a'],
  'goes round in two pages': page => [1, 'ab'.charAt(page % 2)],
  'goes round in many pages after many others': page => [1, String(page < 100 ? page : 100 + (page % 37))],
  'has empty pages without an end': page => [0, String(page)],
  'has entries without an end': page => [1_000, String(page)],
  'has a token of many bytes': page => [1, String(page).repeat(5_000)],
};

for (const [what, pageOf] of Object.entries(endless))
  test(`reading a list that ${what} ends`, () => {
    const guard = createPageGuard({ from: 'the storage', timeoutMs: 60_000 });
    const read = (): void => {
      for (let page = 0; page < 100_000; page++) guard.judge(...pageOf(page));
    };
    assert.throws(read, { code: 'UNAVAILABLE', detail: /^the storage has a list / });
  });

test('reading a list stops when it takes too long, and a long list that ends is read', () => {
  const late = createPageGuard({ from: 'the storage', timeoutMs: 0 });
  assert.throws(() => late.judge(1, 'a'), { detail: /does not end within 0 s/ });
  assert.doesNotThrow(() => late.judge(1, undefined));
  const guard = createPageGuard({ from: 'the storage', timeoutMs: 60_000 });
  for (let page = 0; page < 10_000; page++) guard.judge(page % 50 === 0 ? 1 : 0, `token-${page}`);
  guard.judge(0, undefined);
});
