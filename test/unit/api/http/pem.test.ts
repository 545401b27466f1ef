import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createClient } from '../../../../src/api/client.ts';
import { readTlsFiles } from '../../../../src/api/http/tls-files.ts';
import { readCertificate, requirePrivateKey } from '../../../../src/api/http/pem.ts';
import { makeTemporaryDirectory, removeTemporaryDirectory } from '../../../harness/machine.ts';

let dir = '';
const at = (name: string): string => join(dir, name);
const file = (name: string) => ({ path: name, text: readFileSync(at(name), 'utf8') });

before(() => {
  dir = makeTemporaryDirectory();
  for (const name of ['one', 'two']) {
    const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'];
    const files = ['-subj', `/CN=${name}`, '-keyout', at(`${name}.key`), '-out', at(`${name}.crt`)];
    execFileSync('openssl', ['req', ...kind, ...files], { stdio: 'ignore' });
  }
  const locked = ['-in', at('one.key'), '-aes256', '-passout', 'pass:secret', '-out', at('locked.key')];
  execFileSync('openssl', ['ec', ...locked], { stdio: 'ignore' });
  writeFileSync(at('junk'), 'nonsense');
});

after(() => removeTemporaryDirectory(dir));

test('a certificate and its key are accepted', () => {
  const certificate = readCertificate(file('one.crt'));
  requirePrivateKey(file('one.key'), certificate);
  requirePrivateKey(file('two.key'));
});

for (const [name, fault] of [
  ['junk', '"junk" holds no certificate in PEM form'],
  ['one.key', '"one.key" holds no certificate in PEM form'],
] as const)
  test(`${name} is refused as a certificate: ${fault}`, () => {
    assert.throws(() => readCertificate(file(name)), { message: fault });
  });

for (const [name, fault] of [
  ['junk', '"junk" holds no private key in PEM form without a passphrase'],
  ['one.crt', '"one.crt" holds no private key in PEM form without a passphrase'],
  ['locked.key', '"locked.key" holds no private key in PEM form without a passphrase'],
  ['two.key', '"two.key" holds the key of another certificate; give both files of one pair'],
] as const)
  test(`${name} is refused as the key of a certificate: ${fault}`, () => {
    assert.throws(() => requirePrivateKey(file(name), readCertificate(file('one.crt'))), { message: fault });
  });

for (const [title, files, detail] of [
  ['authorities', { ca: 'junk' }, /junk" holds no certificate in PEM form$/],
  ["a client's certificate", { cert: 'junk', key: 'one.key' }, /junk" holds no certificate/],
  ["a client's key", { cert: 'one.crt', key: 'junk' }, /junk" holds no private key/],
] as const)
  test(`a file of ${title} that is of another kind is named`, async () => {
    const paths = Object.fromEntries(Object.entries(files).map(([name, path]) => [name, at(path)]));
    const read = readTlsFiles(paths) ?? assert.fail('there are paths');
    await assert.rejects(read(), { code: 'UNAVAILABLE', detail });
  });

test('a client certificate with the key of another one fails the call in words, and ends no program', async () => {
  const files = { cert: at('one.crt'), key: at('two.key') };
  const client = createClient({
    url: 'https://127.0.0.1:1',
    token: () => 'secret',
    tls: readTlsFiles(files),
  });
  const asking = client.getCapabilities({}, { deadlineMs: Date.now() + 30_000 });
  await assert.rejects(asking, { detail: /gets a client certificate whose key is another/ });
  await client.close();
});
