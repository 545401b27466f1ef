import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { makeCertificates } from '../../fakes/storages/certificate.ts';
import { runKit } from '../../fakes/storages/kit.ts';
import { referenceVendors } from '../../fakes/storages/reference.ts';
import { temporaryDirectory } from '../../harness/gateway.ts';

for (const { language, command, skip } of referenceVendors.filter(one => one.language === 'python'))
  test(
    `the vendor in ${language} serves callers with a certificate and refuses others`,
    { skip },
    async t => {
      const { ca, cert, key, env } = makeCertificates(temporaryDirectory(t));
      const tls = {
        ca: readFileSync(ca, 'utf8'),
        cert: readFileSync(cert, 'utf8'),
        key: readFileSync(key, 'utf8'),
      };
      const { results } = await runKit(t, { command, seed: 1, env, tls, only: ['FL-1.3-2', 'FL-2.2-1'] });
      assert.deepEqual(
        results.map(({ id, outcome }) => `${id} ${outcome}`),
        ['FL-1.3-2 PASS', 'FL-2.2-1 PASS'],
      );
    },
  );

for (const { language, command, skip } of referenceVendors.filter(one => one.language === 'python'))
  test(
    `the vendor in ${language} does not serve without authentication, or with broken certificates`,
    { skip },
    t => {
      const [program, ...args] = command;
      for (const given of [{}, { TLS_CLIENT_CA: 'ca' }, { TLS_CLIENT_CA: 'ca', TOKEN: 'token' }]) {
        const variables = { TOKEN: '', DIR: temporaryDirectory(t), PORT: '0', ...given };
        const env = { ...process.env, ...variables };
        const { status, stderr } = spawnSync(program, args, { env, timeout: 20_000, encoding: 'utf8' });
        assert.equal(status, 1);
        assert.match(
          stderr,
          /^no callers can be authenticated: set TOKEN, or TLS_CERT, TLS_KEY and TLS_CLIENT_CA/,
        );
      }
    },
  );
