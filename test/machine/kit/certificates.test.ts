import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeCertificate } from '../../fakes/storages/certificate.ts';
import { runKit } from '../../fakes/storages/kit.ts';
import { referenceVendors } from '../../fakes/storages/reference.ts';
import { temporaryDirectory } from '../../harness/gateway/gateway.ts';

for (const { language, command, skip } of referenceVendors.filter(one => one.language === 'python'))
  test(
    `the vendor in ${language} serves callers with a certificate and refuses others`,
    { skip },
    async t => {
      const directory = temporaryDirectory(t);
      for (const name of ['vendor', 'gateway']) makeCertificate(directory, name);
      const at = (file: string): string => join(directory, file);
      const read = (file: string): string => readFileSync(at(file), 'utf8');
      const env = {
        TOKEN: '',
        TLS_CERT: at('vendor.crt'),
        TLS_KEY: at('vendor.key'),
        TLS_CLIENT_CA: at('gateway.crt'),
      };
      const tls = { ca: read('vendor.crt'), cert: read('gateway.crt'), key: read('gateway.key') };
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
