import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAddress, isAddressPattern, isAmong } from '../../../../gateway/pools/addresses.ts';

/** Patterns, addresses that each one matches, and addresses that it does not match. */
const rows: readonly (readonly [pattern: string, held: readonly string[], others: readonly string[]])[] = [
  [
    '192.0.2.10',
    ['192.0.2.10', '192.0.2.10:4420', '[::ffff:192.0.2.10]:1', '3221225994', '0xC000020A:3260', '192.0.522'],
    ['192.0.2.11', '192.0.2.10.example', '[::192.0.2.10]:1'],
  ],
  ['192.0.2.10:4420', ['192.0.2.10:4420', '[::ffff:c000:20a]:4420'], ['192.0.2.10:4421', '192.0.2.10']],
  [
    '192.0.2.0/24',
    ['192.0.2.0:1', '192.0.2.255:65535', '[::ffff:192.0.2.7]:1'],
    ['192.0.3.0:1', 'nas.example'],
  ],
  ['0.0.0.0/0', ['192.0.2.1:1'], ['[2001:db8::1]:1']],
  ['2001:db8::7', ['[2001:DB8:0:0::7]:4420', '2001:db8::7'], ['[2001:db8::8]:4420', '2001:db8:0:7::']],
  ['[2001:db8::7]:4420', ['[2001:0db8::0007]:4420'], ['[2001:db8::7]:4421']],
  ['2001:db8::/33', ['[2001:db8:7fff::1]:1'], ['[2001:db8:8000::1]:1', '192.0.2.1:1']],
  ['NAS.example', ['nas.example', 'nas.example.', 'NAS.EXAMPLE:10809'], ['nas.example.org', 'as.example']],
];

for (const [pattern, held, others] of rows)
  test(`"${pattern}" matches all spellings of its own addresses, and no other address`, () => {
    assert.ok(isAddressPattern(pattern));
    assert.deepEqual(
      held.filter(one => !isAmong(one, [pattern])),
      [],
    );
    assert.deepEqual(
      others.filter(one => isAmong(one, [pattern])),
      [],
    );
  });

test('a text that is no host is neither a pattern nor an address', () => {
  const wrong = [
    '',
    ' ',
    'a b',
    'nas/files',
    '192.0.2.1:70000',
    '192.0.2.1:',
    '[::1',
    'a@b',
    'a%2eb',
    '1.2.3.4/33',
  ];
  assert.deepEqual(wrong.filter(isAddressPattern), []);
  assert.deepEqual([...wrong, '::1/129', 'nas.example/8', '1.2.3.4:5/8'].filter(isAddressPattern), []);
  assert.deepEqual(wrong.filter(isAddress), []);
});
