import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { getSystemErrorName } from 'node:util';
import { reasonOfFault } from '../../../src/lib/exec.ts';
import { outageOf, predicateOf, reasonOf } from '../../../src/lib/words/failures.ts';

const root = join(import.meta.dirname, '../../..');
const withCode = (code: string, more: object = {}): Error =>
  Object.assign(new Error(code), { code, ...more });

const codes =
  '28000 28P01 3D000 42501 53300 57P03 08006 42P01 XX000 DEPTH_ZERO_SELF_SIGNED_CERT ERR_TLS_CERT_ALTNAME_INVALID ' +
  'CERT_HAS_EXPIRED EPROTO UND_ERR_SOCKET UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT HPE_INVALID_CONSTANT ' +
  'ECONNREFUSED ECONNRESET ENOTFOUND EAI_AGAIN EHOSTUNREACH ENOENT EACCES EBUSY EINVAL EIO EMFILE ENODEV ENOMEM ' +
  'ENOSPC EUCLEAN EXDEV';
for (const code of codes.split(' '))
  test(`${code} is said in words`, () => {
    const words = reasonOf(withCode(code));
    assert.match(words, /^it [a-z]/);
    assert.ok(!words.includes(code), words);
  });

for (const [number, reason] of [
  [116, /no longer knows it/],
  [117, /is damaged/],
  [122, /quota/],
] as const)
  test(`error ${number} of Linux is said in words, although Node.js has no name for it`, () =>
    assert.match(reasonOf(withCode(getSystemErrorName(-number))), reason));

test('only another protocol or certificate is said to be of another server', () => {
  const outages = {
    ENOENT: undefined,
    ERR_OSSL_X509_KEY_VALUES_MISMATCH: undefined,
    ECONNREFUSED: 'silent',
    E_OTHER: 'silent',
    CERT_HAS_EXPIRED: 'errors',
    ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'errors',
    ERR_TLS_CERT_ALTNAME_INVALID: 'foreign',
    HPE_INVALID_CONSTANT: 'foreign',
  };
  for (const [code, outage] of Object.entries(outages)) assert.equal(outageOf(withCode(code)), outage, code);
});

test('the code of a cause, or of one of several addresses, is found', () => {
  const refused = withCode('ECONNREFUSED');
  assert.match(reasonOf(new TypeError('fetch failed', { cause: refused })), /^it refuses connections/);
  assert.match(reasonOf(new AggregateError([withCode('OTHER'), refused])), /^it refuses connections/);
});

test('the end of a time limit is said in words', () => {
  assert.match(reasonOf(new DOMException('aborted due to timeout', 'TimeoutError')), /^it does not answer/);
});

test('an untrusted certificate names the setting for authorities', () => {
  const error = withCode('DEPTH_ZERO_SELF_SIGNED_CERT');
  assert.match(predicateOf(error) ?? '', /PEM file with --ca-file$/);
  assert.match(predicateOf(error, '"tls.ca" of the pool') ?? '', /PEM file with "tls\.ca" of the pool$/);
});

test('an error without a known code keeps its message, on one line', () => {
  assert.equal(predicateOf(withCode('E_OTHER')), undefined);
  assert.equal(reasonOf(new Error('first\n second')), 'first second');
  assert.equal(reasonOf(Object.assign(new Error(''), { code: 'E_OTHER' })), 'unknown failure "E_OTHER"');
  assert.equal(
    reasonOf(Object.assign(new Error("EPIPE2: other words, open '/x'"), { code: 'EPIPE2' })),
    "other words, open '/x'",
  );
});

for (const fault of 'ENOENT EACCES EAGAIN EINVAL EMFILE ENOMEM ENOEXEC E2BIG'.split(' '))
  test(`a command that cannot be started because of ${fault} is explained in words`, () => {
    const words = reasonOfFault(fault);
    assert.ok(/^[a-z]/.test(words) && !words.includes(fault), words);
  });

test('no message of any program shows a bare code', () => {
  const bare = ['src', 'gateway', 'node-agent'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.ts'))
      .flatMap(name => {
        const text = readFileSync(join(root, folder, name), 'utf8');
        const bareCode = /[(:] ?\$\{(\w+\.)?code( \?\? \w+)?\}[)`']|not be started: \$\{(\w+\.)?fault\}/;
        return bareCode.test(text) ? [`${folder}/${name}`] : [];
      }),
  );
  // The kit shows the codes of the contract, which vendors know.
  assert.deepEqual(bare, ['src/kit/chapters/order.ts', 'gateway/stores/postgres/transaction.ts']);
});
