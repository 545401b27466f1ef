import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Outcome } from './callers.ts';
import { hostedGateway } from './guide.ts';
import type { Hosting } from './hosting.ts';

/** The cluster of the callers, which the guide enrolls. */
const cluster = 'east';

/** Creates volumes until the work has ended. */
export async function createDuring(
  { cluster: { site }, files, url }: Hosting,
  name: string,
  work: () => Promise<void>,
): Promise<Outcome> {
  const keyFile = join(files, 'east.jwk.json');
  const secret = readFileSync(join(files, 'east.secret.yaml'), 'utf8');
  writeFileSync(keyFile, JSON.parse(/^ {2}key\.jwk\.json: (.*)$/m.exec(secret)?.[1] ?? ''), { mode: 0o600 });
  const end = join(files, `${name}.end`);
  const program = [process.execPath, join(import.meta.dirname, 'callers.ts')];
  const environment = ['env', `NODE_EXTRA_CA_CERTS=${join(files, 'tls.crt')}`];
  const calls = site.run([...environment, ...program, url, cluster, keyFile, name, end]);
  await Promise.all([work().finally(() => writeFileSync(end, '')), calls]);
  return JSON.parse(await calls) as Outcome;
}

/** Fails unless replicas and storage have one volume for each name, and the replicas find no difference to the storage. */
export async function requireVolumes(
  { database, operate, storage }: Hosting,
  names: readonly string[],
): Promise<void> {
  const ids = (await database.read(`select id from volumes`)).split('\n');
  assert.deepEqual(ids.sort(), names.map(name => `${cluster}.${name}`).sort());
  assert.equal(storage.count('volumes', 'cluster = ?', hostedGateway), names.length);
  await operate('admin', 'check');
}
