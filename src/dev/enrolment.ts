import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, type JWK } from 'jose';
import { stringify } from 'yaml';
import { makeDirectories } from '../lib/directories.ts';

/** The name under which `fairlead dev` enrolls its own controller. */
export const devCluster = 'dev';

/** The pools of a gateway, as its configuration file has them. */
export type PoolSettings = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** Writes `gateway.yaml` with pools, a cluster and operators, and private keys (mode 0600) that are missing. */
export async function enroll(dir: string, pools: PoolSettings) {
  await makeDirectories(dir);
  const configFile = join(dir, 'gateway.yaml');
  const keyFile = await enrollKey(join(dir, 'controller.jwk.json'), join(dir, 'dev.jwks.json'));
  const operatorKeyFile = await enrollKey(join(dir, 'operator.jwk.json'), join(dir, 'operators.jwks.json'));
  const clusters = { [devCluster]: { keys: 'dev.jwks.json' } };
  await replaceFile(configFile, stringify({ pools, clusters, operators: { keys: 'operators.jwks.json' } }));
  return { configFile, keyFile, operatorKeyFile };
}

async function enrollKey(path: string, keySetPath: string): Promise<string> {
  const { d: _private, ...publicJwk } = (await readJwk(path)) ?? (await makeJwk(path));
  await replaceFile(keySetPath, JSON.stringify({ keys: [publicJwk] }));
  return path;
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
  await replaceFile(path, JSON.stringify(jwk));
  return jwk;
}

/** A file that is cut short would have to be removed by hand. */
async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.new`;
  await writeFile(temporary, text, { mode: 0o600, flush: true });
  await rename(temporary, path);
}
