import { createLocalJWKSet } from 'jose/jwks/local';
import type { JSONWebKeySet } from 'jose';
import { z } from 'zod';
import type { Enrolment, KeyOwner } from '../http/auth.ts';

/** One caller, and the public keys that sign its tokens. */
export type Enrolled = KeyOwner & { readonly keys: readonly PublicKey[] };

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
 * Enrols all callers. A `kid` or a key that is there twice stays with who had it in `last`, or else, as at a start, is
 * that of the first; that, and a key that cannot be used, is reported with who has it, and is not enrolled.
 */
export async function createEnrolment(
  enrolled: readonly Enrolled[],
  report: (owner: KeyOwner, fault: string) => void,
  last?: Enrolment,
): Promise<Enrolment> {
  const owners = new Map<string, KeyOwner>();
  const keys = new Map<string, PublicKey>();
  const all = enrolled
    .flatMap(({ keys: own, ...owner }) =>
      own.map(key => ({ key, owner, isNew: !isSame(owner, last?.owners.get(key.kid)) })),
    )
    .toSorted((one, other) => Number(one.isNew) - Number(other.isNew));
  for (const { key, owner } of all) {
    const material = `${key.crv} ${key.x}`;
    const reportKey = (what: string): void => report(owner, `the key with kid "${key.kid}" ${what}`);
    if (owners.has(key.kid)) reportKey('is enrolled twice');
    else if (keys.has(material)) reportKey('is enrolled under another kid too');
    else if (!(await isUsable(key))) reportKey('is malformed');
    else {
      owners.set(key.kid, owner);
      keys.set(material, key);
    }
  }
  return { keySet: createLocalJWKSet({ keys: [...keys.values()] } as JSONWebKeySet), owners };
}

function isSame({ caller }: KeyOwner, other: KeyOwner | undefined): boolean {
  return caller.role === other?.caller.role && caller.cluster?.name === other.caller.cluster?.name;
}

async function isUsable(key: PublicKey): Promise<boolean> {
  const { kid } = key;
  const keySet = createLocalJWKSet({ keys: [key] } as JSONWebKeySet);
  return keySet({ alg: algorithmOf(key) ?? '', kid }).then(
    () => true,
    () => false,
  );
}

function algorithmOf({ kty, crv }: Pick<PublicKey, 'kty' | 'crv'>): string | undefined {
  return algorithms[`${kty} ${crv}`];
}
