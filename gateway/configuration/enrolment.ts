import { createLocalJWKSet } from 'jose/jwks/local';
import type { JSONWebKeySet } from 'jose';
import { z } from 'zod';
import type { Enrolment, KeyOwner } from '../http/auth.ts';

/** One caller, the public keys that sign its tokens, and the path of its entry in the configuration file. */
export type Enrolled = KeyOwner & {
  readonly keys: readonly PublicKey[];
  readonly entry: readonly string[];
};

const algorithms: Readonly<Record<string, string>> = { 'OKP Ed25519': 'EdDSA', 'EC P-256': 'ES256' };
const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

const publicKeySchema = z
  .looseObject({
    kid: z.string().min(1),
    kty: z.string(),
    crv: z.string().optional(),
    x: z.string().optional(),
    alg: z.string().optional(),
    use: z.literal('sig').optional(),
  })
  .superRefine((key, context) => {
    const algorithm = algorithmOf(key);
    const report = (message: string): void => context.addIssue({ code: 'custom', message });
    if (secretMembers.some(member => member in key))
      report('is a private or secret key; only public keys belong here');
    else if (algorithm === undefined) report('is neither an Ed25519 nor a P-256 key');
    else if (key.alg !== undefined && key.alg !== algorithm)
      report(`must have the alg "${algorithm}" or none`);
  });

/** A set of public keys (RFC 7517), each with a `kid`, Ed25519 or P-256. */
export const keySetSchema = z.object({ keys: z.array(publicKeySchema) });

/** A public key. */
export type PublicKey = z.infer<typeof publicKeySchema>;

/**
 * Enrols all callers. A `kid` or a key that is there twice, and a key that cannot be used, is reported with the path of
 * the entry that it came by.
 */
export async function createEnrolment(
  enrolled: readonly Enrolled[],
  report: (entry: readonly string[], fault: string) => void,
): Promise<Enrolment> {
  const owners = new Map<string, KeyOwner>();
  const materials = new Set<string>();
  const all = enrolled.flatMap(({ keys, ...owner }) => keys.map(key => ({ key, ...owner })));
  const keySet = createLocalJWKSet({ keys: all.map(({ key }) => key) } as JSONWebKeySet);
  for (const { key, entry, caller, issuer } of all) {
    const material = `${key.crv} ${key.x}`;
    const reportKey = (what: string): void => report(entry, `the key with kid "${key.kid}" ${what}`);
    if (owners.has(key.kid)) reportKey('is enrolled twice');
    else if (materials.has(material)) reportKey('is enrolled under another kid too');
    else await keySet({ alg: algorithmOf(key) ?? '', kid: key.kid }).catch(() => reportKey('is malformed'));
    owners.set(key.kid, { caller, issuer });
    materials.add(material);
  }
  return { keySet, owners };
}

function algorithmOf({ kty, crv }: Pick<PublicKey, 'kty' | 'crv'>): string | undefined {
  return algorithms[`${kty} ${crv}`];
}
