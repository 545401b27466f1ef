import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectories } from '../lib/directories.ts';
import { exportJWK, generateKeyPair, type JWK } from 'jose';

/** The name under which `fairlead dev` enrolls its own controller. */
export const devCluster = 'dev';

/** The files that enroll one controller at one gateway. */
export type Enrollment = { readonly keyFile: string; readonly clustersFile: string };

/**
 * Makes a key pair on the first start and keeps it: the private key for the controller (mode 0600), the public one in a
 * JWKS that the clusters file names. A key that is there is used again.
 */
export async function enroll(dir: string): Promise<Enrollment> {
  await makeDirectories(dir);
  const keyFile = join(dir, 'controller.jwk.json');
  const clustersFile = join(dir, 'clusters.json');
  const jwk = (await readJwk(keyFile)) ?? (await makeJwk(keyFile));
  const { d: _private, ...publicJwk } = jwk;
  await writeFile(join(dir, 'dev.jwks.json'), json({ keys: [publicJwk] }));
  await writeFile(
    clustersFile,
    json({
      clusters: [{ name: devCluster, issuer: devCluster, jwksFile: 'dev.jwks.json', acceptAnyNode: false }],
    }),
  );
  return { keyFile, clustersFile };
}

async function readJwk(path: string): Promise<JWK | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as JWK;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new Error(`key file "${path}" cannot be read or is not JSON`, { cause: error });
  }
}

async function makeJwk(path: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true });
  const jwk = { ...(await exportJWK(privateKey)), alg: 'EdDSA', use: 'sig', kid: crypto.randomUUID() };
  // A key that is cut short would have to be removed by hand.
  const temporary = `${path}.new`;
  await writeFile(temporary, json(jwk), { mode: 0o600, flush: true });
  await rename(temporary, path);
  return jwk;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
