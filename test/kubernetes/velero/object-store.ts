import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { apiAddressOf } from '../cluster/addresses.ts';
import type { Site } from '../cluster/site.ts';
import { waitFor } from '../cluster/wait.ts';

/** A server with the API of S3, which every pod of a site reaches. */
export type ObjectStore = { readonly url: string; readonly accessKey: string; readonly secretKey: string };

/** Starts a server of objects with an empty bucket; resolves once it answers. It ends with the site. */
export async function startObjectStore(site: Site, bucket: string): Promise<ObjectStore> {
  const directory = join(site.directory, 'objects');
  mkdirSync(join(directory, bucket), { recursive: true });
  const address = `${apiAddressOf(1)}:9000`;
  const [accessKey, secretKey] = ['backups', randomBytes(16).toString('hex')];
  const keys = [`ROOT_ACCESS_KEY_ID=${accessKey}`, `ROOT_SECRET_ACCESS_KEY=${secretKey}`];
  const server = join(site.bin, 'versitygw');
  const settings = [`--port=${address}`, '--health=/health'];
  const argv = ['env', ...keys, server, ...settings, 'posix', directory];
  const program = site.namespace.start('object-store', argv);
  const url = `http://${address}`;
  const look = `fetch('${url}/health').then(({ ok }) => process.exit(ok ? 0 : 1))`;
  await waitFor('the object store', () => site.run([process.execPath, '--eval', look]), program);
  return { url, accessKey, secretKey };
}
