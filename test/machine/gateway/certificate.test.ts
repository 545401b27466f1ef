import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { poll } from '../../../src/lib/concurrency.ts';
import { prepareGateway, runGateway } from '../../harness/gateway/program.ts';
import { makeCertificate } from '../../fakes/storages/certificate.ts';

test('a renewed certificate is served without a restart, and an unusable one changes nothing', async t => {
  const directory = await prepareGateway(t);
  const [cert, key] = [join(directory, 'tls.crt'), join(directory, 'tls.key')];
  for (const name of ['one', 'two']) makeCertificate(directory, name);
  copyFileSync(join(directory, 'one.crt'), cert);
  copyFileSync(join(directory, 'one.key'), key);
  const flags = { 'tls-cert-file': cert, 'tls-key-file': key };
  const { url: address, logLines: lines } = await runGateway(t, { directory, flags });
  const url = new URL(address);
  assert.equal(url.protocol, 'https:');
  assert.equal(await servedName(url), 'one');

  const faults = (): readonly string[] =>
    lines.filter(line => line.includes('cannot read the certificate again'));
  const untilFault = async (count: number): Promise<void> => {
    await poll(() => faults().length >= count || undefined, { everyMs: 20, timeoutMs: 30_000 });
  };
  writeFileSync(cert, 'no certificate');
  await untilFault(1);
  // The key belongs to another certificate, as while both are being replaced.
  copyFileSync(join(directory, 'two.crt'), cert);
  await untilFault(2);
  assert.equal(await servedName(url), 'one');
  copyFileSync(join(directory, 'two.key'), key);
  const renewed = async () => (await servedName(url)) === 'two' || undefined;
  assert.ok(await poll(renewed, { everyMs: 50, timeoutMs: 30_000 }), lines.join('\n'));
  assert.equal(faults().length, 2);
});

/** Returns the common name in the certificate of a new connection. */
async function servedName({ hostname, port }: URL): Promise<unknown> {
  const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return subject.CN;
}
