import { createLocalJWKSet } from 'jose/jwks/local';
import type { JSONWebKeySet } from 'jose';
import { algorithmOf } from '../../src/api/http/jwt.ts';
import type { Enrolment, KeyOwner } from '../http/auth.ts';
import type { PublicKey } from './keys.ts';

/** One caller, and the public keys that sign its tokens. */
export type Enrolled = KeyOwner & { readonly keys: readonly PublicKey[] };

/** The keys that callers have of their own. */
export type OwnKeys = Pick<Enrolment, 'keySet' | 'owners'>;

/**
 * Enrols all callers. A `kid` or a key that is there twice stays with who had it in `last`, or else, as at a start, is
 * that of the first; that, and a key that cannot be used, is reported with who has it, and is not enrolled.
 */
export async function createEnrolment(
  enrolled: readonly Enrolled[],
  report: (owner: KeyOwner, fault: string) => void,
  last?: OwnKeys,
): Promise<OwnKeys> {
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

/** Whether both are the same caller. */
export function isSame({ caller }: KeyOwner, other: KeyOwner | undefined): boolean {
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
