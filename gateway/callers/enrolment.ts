import { createLocalJWKSet } from 'jose/jwks/local';
import type { JSONWebKeySet } from 'jose';
import { algorithmOf } from '../../src/api/http/jwt.ts';
import { findWeakness } from '../../src/api/http/weak-keys.ts';
import type { EnrolledOwner, Enrolment, KeyOwner } from './authenticate.ts';
import type { PublicKey } from './keys.ts';

/** Says that the file with the keys cannot be read or used. */
type KeySource = { readonly isAtFault?: boolean | undefined };

export type EnrolledCaller = KeyOwner & KeySource & { readonly keys: readonly PublicKey[] };

/** The callers' own keys. `held` maps each name of a key (see `namesOf`) to its owner. */
export type OwnKeys = Pick<Enrolment, 'keySet' | 'owners'> & { readonly held: ReadonlyMap<string, KeyOwner> };

/**
 * Enrols all callers. If two have the same `kid` or key, its owner in `last` keeps it, even while the owner's
 * file is at fault; if `last` has none, as at a start, the first one gets it. A duplicate and an unusable key
 * are reported with their owner, and not enrolled.
 */
export async function createEnrolment(
  enrolled: readonly EnrolledCaller[],
  report: (owner: KeyOwner, fault: string) => void,
  last?: OwnKeys,
): Promise<OwnKeys> {
  const owners = new Map<string, EnrolledOwner>();
  const keys = new Map<string, PublicKey>();
  const unusable = await findUnusable(enrolled);
  const held = heldByFaulty(
    last?.held,
    enrolled.map(one => ({ ...one, isAtFault: one.isAtFault || one.keys.some(key => unusable.has(key)) })),
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
    const fault = unusable.get(key);
    const reportKey = (problem: string): void => report(owner, `the key with kid "${key.kid}" ${problem}`);
    const isOthers = (name: string): boolean => !isSame(owner, held.get(name) ?? owner);
    if (owners.has(key.kid) || isOthers(kid)) reportKey('is enrolled twice; give each key its own kid');
    else if (keys.has(material) || isOthers(material))
      reportKey('is also enrolled under another kid; enrol it once');
    else if (fault !== undefined) reportKey(fault);
    else {
      for (const name of [kid, material]) held.set(name, owner);
      owners.set(key.kid, { ...owner, material });
      keys.set(material, key);
    }
  }
  return { keySet: createLocalJWKSet({ keys: [...keys.values()] } as JSONWebKeySet), owners, held };
}

/**
 * Returns true when the owner holds none of these names, or another owner holds one. A key under a new `kid`
 * stays its owner's.
 */
export function isNewcomer(
  owner: KeyOwner,
  names: readonly string[],
  held: ReadonlyMap<string, KeyOwner> = new Map(),
): boolean {
  const holders = names.flatMap(name => held.get(name) ?? []);
  return holders.length === 0 || holders.some(holder => !isSame(owner, holder));
}

/**
 * Keeps the names in `held` for owners whose key file is at fault. Nobody else gets their keys, and repairing
 * the file returns them.
 */
export function heldByFaulty(
  held: ReadonlyMap<string, KeyOwner> | undefined,
  all: readonly (KeyOwner & KeySource)[],
): Map<string, KeyOwner> {
  const faulty = all.filter(({ isAtFault }) => isAtFault);
  return new Map((held ?? new Map()).entries().filter(([, owner]) => faulty.some(one => isSame(one, owner))));
}

type Names = { readonly kid: string; readonly material: string };

function namesOf({ kid, crv, x }: PublicKey): Names {
  return { kid: `kid ${kid}`, material: `key ${crv} ${x}` };
}

export function isSame({ caller }: KeyOwner, other: KeyOwner | undefined): boolean {
  return caller.role === other?.caller.role && caller.cluster?.name === other.caller.cluster?.name;
}

/** Finds the keys that cannot prove anything, with the fault of each. */
async function findUnusable(enrolled: readonly EnrolledCaller[]): Promise<ReadonlyMap<PublicKey, string>> {
  const unusable = new Map<PublicKey, string>();
  for (const key of enrolled.flatMap(({ keys }) => keys)) {
    const fault = (await isUsable(key)) ? findWeakness(key) : 'is malformed';
    if (fault !== undefined) unusable.set(key, fault);
  }
  return unusable;
}

async function isUsable(key: PublicKey): Promise<boolean> {
  const { kid } = key;
  const keySet = createLocalJWKSet({ keys: [key] } as JSONWebKeySet);
  return keySet({ alg: algorithmOf(key) ?? '', kid }).then(
    () => true,
    () => false,
  );
}
