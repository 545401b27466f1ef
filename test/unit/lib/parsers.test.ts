import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  absolutePath,
  bytes,
  choice,
  durationMs,
  hostPort,
  httpUrl,
  integer,
  requirePrivate,
  text,
  peerSocket,
  unixSocket,
} from '../../../src/lib/parsers.ts';

type Parser = (value: string) => unknown;
type Row = {
  readonly parse: Parser;
  /** The parsed values by their text. */
  readonly good: Readonly<Record<string, unknown>>;
  readonly bad: readonly string[];
};

const table: Readonly<Record<string, Row>> = {
  text: { parse: text, good: { x: 'x' }, bad: [''] },
  absolutePath: {
    parse: absolutePath,
    good: { '/': '/', '//': '/', '/a/..': '/', '/..': '/', '/a/': '/a', '/a//b/./c/..': '/a/b' },
    bad: ['', 'a', './a', '~/a'],
  },
  integer: {
    parse: integer(-1, 10),
    good: { '-1': -1, '0': 0, '10': 10 },
    bad: ['', '-2', '11', '1.5', '1e1', '0x1', ' 1', 'one'],
  },
  durationMs: {
    parse: durationMs,
    good: { '0s': 0, '250ms': 250, '30s': 30_000, '5m': 300_000, '1h': 3_600_000, '596h': 2_145_600_000 },
    bad: ['', '5', '5d', '-5s', '1.5s', '5 s', 's', '597h', '999999999h', '9999999999ms'],
  },
  bytes: {
    parse: bytes,
    good: {
      '0': 0,
      '4096': 4_096,
      '512Mi': 536_870_912,
      '1Ki': 1_024,
      '2Gi': 2_147_483_648,
      '8191Ti': 8_191 * 2 ** 40,
      '7Pi': 7 * 2 ** 50,
    },
    bad: ['', '-1', '1.5Gi', '1G', '1KB', '8192Ti', '8Pi', '9999999999999999', 'Gi'],
  },
  choice: { parse: choice('a', 'b'), good: { a: 'a' }, bad: ['', 'A', 'c', 'a '] },
  httpUrl: {
    parse: httpUrl,
    good: { 'http://h': 'http://h', 'https://h:8443/': 'https://h:8443', 'https://h/a//': 'https://h/a' },
    bad: ['', 'h', 'h:80', 'ftp://h', 'file:///x', 'http://', 'http://h?a=b', 'http://h#x', 'http://u@h'],
  },
  requirePrivate: {
    parse: requirePrivate,
    good: Object.fromEntries(
      [
        'https://h',
        'http://localhost:1',
        'http://127.8.0.1',
        'http://127.1',
        'http://[::1]:80',
        'http://0.0.0.0:80',
        'http://[::]',
      ].map(url => [url, undefined]),
    ),
    bad: [
      'http://h',
      'http://127.0.0.1.example',
      'http://10.0.0.1',
      'http://localhost.example',
      'http://[::2]',
    ],
  },
  hostPort: {
    parse: hostPort,
    good: {
      'h:0': { host: 'h', port: 0 },
      '0.0.0.0:8080': { host: '0.0.0.0', port: 8_080 },
      '[::1]:65535': { host: '::1', port: 65_535 },
    },
    bad: ['', 'h', ':80', 'h:', 'h:65536', 'h:-1', '::1:80', '[x]:80', 'h h:80'],
  },
  unixSocket: {
    parse: unixSocket,
    good: {
      'unix:///csi/csi.sock': '/csi/csi.sock',
      'unix:/csi/csi.sock': '/csi/csi.sock',
      '/csi//csi.sock': '/csi/csi.sock',
      [`/${'x'.repeat(101)}.sock`]: `/${'x'.repeat(101)}.sock`,
    },
    bad: [
      '',
      'csi.sock',
      'unix://csi.sock',
      '/csi/csi',
      'tcp://h:1',
      `/${'x'.repeat(102)}.sock`,
      `/${'é'.repeat(51)}.sock`,
    ],
  },
  peerSocket: {
    parse: peerSocket,
    good: { 'unix:///run/csi/socket': '/run/csi/socket', '/csi/csi.sock': '/csi/csi.sock' },
    bad: ['', 'run/csi/socket', 'unix://socket', 'tcp://h:1', `/${'x'.repeat(107)}`],
  },
};

for (const [name, { parse, good, bad }] of Object.entries(table))
  test(`${name} parses valid values, and its error for others names the expected form`, () => {
    for (const [value, expected] of Object.entries(good)) assert.deepEqual(parse(value), expected, value);
    for (const value of bad) assert.throws(() => parse(value), value === '' ? Error : /"/, value);
  });

test('an address with credentials is refused without showing them', () => {
  for (const before of ['https://', 'ftp://', '', 'http:// '])
    assert.throws(
      () => httpUrl(`${before}user:pa55word@host`),
      error => !String(error).includes('pa55word'),
    );
});
