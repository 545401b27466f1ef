import type { Assets } from '../../../gateway/console/assets.ts';
import { createProviderLogin } from '../../../gateway/console/provider.ts';
import { createSessions, type SessionOptions } from '../../../gateway/console/sessions.ts';
import { createConsole } from '../../../gateway/http/console.ts';
import { createIdentity, type OwnIdentity } from '../../../gateway/pools/identity.ts';
import { temporaryDirectory, type CleanupScope } from '../temporary.ts';
import { signerOf } from './signers.ts';

/** Creates consoles with two small files, and a key of their own for sessions. */
export function prepareConsole(t: CleanupScope) {
  const identity = createGatewayKey(t);
  return (parts: Omit<SessionOptions, 'identity'>) => {
    const sessions = createSessions({ ...parts, identity });
    return createConsole({
      assets: sampleAssets,
      sessions,
      provider: createProviderLogin(parts.enrolment, sessions),
    });
  };
}

/** Creates a gateway's identity with a key of its own. */
export function createGatewayKey(t: CleanupScope): OwnIdentity {
  return createIdentity('gateway', `${temporaryDirectory(t)}/keys.json`);
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
