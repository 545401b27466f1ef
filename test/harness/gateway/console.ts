import { createIdentity } from '../../../gateway/pools/identity.ts';
import type { Assets } from '../../../gateway/console/assets.ts';
import { temporaryDirectory, type CleanupScope } from '../temporary.ts';
import { signerOf } from './signers.ts';

/** Creates the parts of a console with two small files, and a key of its own for sessions. */
export function openConsoleParts(t: CleanupScope) {
  const identity = createIdentity('gateway', `${temporaryDirectory(t)}/keys.json`);
  return { assets: sampleAssets, identity };
}

const sampleAssets: Assets = new Map(
  ['index.html', 'console-ABC.js'].map(name => {
    const plain = new TextEncoder().encode(name);
    return [name, { type: name.endsWith('js') ? 'text/javascript' : 'text/html', plain, brotli: plain }];
  }),
);

/** Signs a code of this caller as `fairlead console` does, with the given claims in place of its own. */
export async function signCode(caller: string, claims: object = {}): Promise<string> {
  const nowS = Math.floor(Date.now() / 1_000);
  const own = { aud: 'fairlead/console', iat: nowS, exp: nowS + 300, jti: crypto.randomUUID() };
  return (await signerOf(caller)).sign({ ...own, ...claims });
}
