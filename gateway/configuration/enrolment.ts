import { createLocalJWKSet } from 'jose/jwks/local';
import type { JSONWebKeySet } from 'jose';
import { algorithmOf } from '../../src/api/http/jwt.ts';
import type { Enrolment, KeyOwner } from '../http/auth.ts';
import type { PublicKey } from './keys.ts';

/** Whether what has its keys cannot be read or used. */
type MayBeAtFault = { readonly isAtFault?: boolean | undefined };

/** One caller, and the public keys that sign its tokens. */
export type Enrolled = KeyOwner & MayBeAtFault & { readonly keys: readonly PublicKey[] };

/** The keys that callers have of their own, and whose each `kid` and each key is, by `namesOf`. */
export type OwnKeys = Pick<Enrolment, 'keySet' | 'owners'> & { readonly held: ReadonlyMap<string, KeyOwner> };

/**
 * Enrols all callers. A `kid` or a key that is there twice stays with who had it in `last`, also while that one's file is
 * at fault, or else, as at a start, is that of the first; that, and a key that cannot be used, is reported with who has it, and is not enrolled.
 */
export async function createEnrolment(
  enrolled: readonly Enrolled[],
  report: (owner: KeyOwner, fault: string) => void,
  last?: OwnKeys,
): Promise<OwnKeys> {
  const owners = new Map<string, KeyOwner>();
  const keys = new Map<string, PublicKey>();
  const malformed = await findMalformed(enrolled);
  const held = heldByFaulty(
    last?.held,
    enrolled.map(one => ({ ...one, isAtFault: one.isAtFault || one.keys.some(key => malformed.has(key)) })),
  );
  const all = enrolled
    .flatMap(({ keys: own, caller, issuer }) => {
      const owner = { caller, issuer };
      return own.map(key => ({
        key,
        owner,
        names: namesOf(key),
        isNew: isNewcomer(owner, Object.values(namesOf(key)), last?.held),
      }));
    })
    .toSorted((one, other) => Number(one.isNew) - Number(other.isNew));
  for (const { key, owner, names } of all) {
    const { kid, material } = names;
    const reportKey = (what: string): void => report(owner, `the key with kid "${key.kid}" ${what}`);
    const isOthers = (name: string): boolean => !isSame(owner, held.get(name) ?? owner);
    if (owners.has(key.kid) || isOthers(kid)) reportKey('is enrolled twice');
    else if (keys.has(material) || isOthers(material)) reportKey('is enrolled under another kid too');
    else if (malformed.has(key)) reportKey('is malformed');
    else {
      for (const name of [kid, material]) held.set(name, owner);
      owners.set(key.kid, owner);
      keys.set(material, key);
    }
  }
  return { keySet: createLocalJWKSet({ keys: [...keys.values()] } as JSONWebKeySet), owners, held };
}

/** True for who has none of these names in `held`, or one that is another's. A key that gets another `kid` stays its owner's. */
export function isNewcomer(
  owner: KeyOwner,
  names: readonly string[],
  held: ReadonlyMap<string, KeyOwner> = new Map(),
): boolean {
  const holders = names.flatMap(name => held.get(name) ?? []);
  return holders.length === 0 || holders.some(holder => !isSame(owner, holder));
}

/** What of `held` nobody else gets: it is whose file is at fault now, and who has it back once that is mended. */
export function heldByFaulty(
  held: ReadonlyMap<string, KeyOwner> | undefined,
  all: readonly (KeyOwner & MayBeAtFault)[],
): Map<string, KeyOwner> {
  const faulty = all.filter(({ isAtFault }) => isAtFault);
  return new Map((held ?? new Map()).entries().filter(([, owner]) => faulty.some(one => isSame(one, owner))));
}

type Names = { readonly kid: string; readonly material: string };

function namesOf({ kid, crv, x }: PublicKey): Names {
  return { kid: `kid ${kid}`, material: `key ${crv} ${x}` };
}

/** Whether both are the same caller. */
export function isSame({ caller }: KeyOwner, other: KeyOwner | undefined): boolean {
  return caller.role === other?.caller.role && caller.cluster?.name === other.caller.cluster?.name;
}

async function findMalformed(enrolled: readonly Enrolled[]): Promise<ReadonlySet<PublicKey>> {
  const malformed = new Set<PublicKey>();
  for (const key of enrolled.flatMap(({ keys }) => keys)) if (!(await isUsable(key))) malformed.add(key);
  return malformed;
}

async function isUsable(key: PublicKey): Promise<boolean> {
  const { kid } = key;
  const keySet = createLocalJWKSet({ keys: [key] } as JSONWebKeySet);
  return keySet({ alg: algorithmOf(key) ?? '', kid }).then(
    () => true,
    () => false,
  );
}
