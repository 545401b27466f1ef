import { createLocalJWKSet } from 'jose/jwks/local';
import type { JSONWebKeySet } from 'jose';
import { findWeakness } from '../../src/api/http/weak-keys.ts';
import type { KeyOwner, TrustedCaller } from './authenticate.ts';
import { discoverKeys, type Discovery } from './discovery.ts';
import { heldByFaulty, isNewcomer, isSame } from './enrolment.ts';
import type { PublicKey } from './keys.ts';

/** A trusted caller and the keys of its issuer; undefined `keys`: the issuer publishes them. */
export type TrustedKeys = Omit<TrustedCaller, 'keys'> & {
  readonly keys: readonly PublicKey[] | undefined;
  /** The key file cannot be read or used. */
  readonly isAtFault?: boolean | undefined;
};

/**
 * The trusted callers by issuer, the owner of each key from a file by issuer and subject, and the issuers
 * that publish their keys.
 */
export type Trust = {
  readonly trusted: ReadonlyMap<string, readonly TrustedCaller[]>;
  readonly owners: ReadonlyMap<string, KeyOwner>;
  readonly discoveries: ReadonlyMap<string, Discovery>;
};

/**
 * Builds the trust in all issuers. If two callers have the same key for one subject of an issuer in their
 * files, its owner in `last` keeps it, even while the owner's file is at fault; otherwise the first one gets
 * it. So no caller can take or invalidate another's tokens. The duplicate is reported, and so is a weak key,
 * which is ignored.
 */
export function createTrust(
  declared: readonly TrustedKeys[],
  report: (owner: KeyOwner, fault: string) => void,
  last?: Trust,
): Trust {
  const owners = heldByFaulty(last?.owners, declared);
  const discoveries = new Map<string, Discovery>();
  const claim = (one: TrustedKeys, key: PublicKey): boolean => {
    const weakness = findWeakness(key);
    if (weakness !== undefined) {
      report(one, `the key with kid "${key.kid}" ${weakness}`);
      return false;
    }
    const names = namesOf(one, key);
    const isFree = names.every(name => isSame(one, owners.get(name) ?? one));
    if (isFree) for (const name of names) owners.set(name, one);
    else report(one, `the key with kid "${key.kid}" is already enrolled for the same issuer and subject`);
    return isFree;
  };
  const claimed = declared
    .flatMap(one =>
      (one.keys ?? []).map(key => ({ one, key, isNew: isNewcomer(one, namesOf(one, key), last?.owners) })),
    )
    .toSorted((first, second) => Number(first.isNew) - Number(second.isNew))
    .filter(({ one, key }) => claim(one, key));
  const keysOf = (one: TrustedKeys): TrustedCaller['keys'] => {
    const { issuer } = one;
    if (one.keys) {
      const keys = claimed.filter(claimedKey => claimedKey.one === one).map(({ key }) => key);
      return createLocalJWKSet({ keys } as JSONWebKeySet);
    }
    const discover = (): Discovery => last?.discoveries.get(issuer) ?? discoverKeys(issuer);
    return discoveries.getOrInsertComputed(issuer, discover).keys;
  };
  const all = declared.map((one): TrustedCaller => ({ ...one, keys: keysOf(one) }));
  return { trusted: Map.groupBy(all, ({ issuer }) => issuer), owners, discoveries };
}

/** Lists the issuers whose keys could not be read the last time, with each caller that needs them. */
export function discoveryFaults({ trusted, discoveries }: Trust): readonly (readonly [KeyOwner, string])[] {
  return [...trusted].flatMap(([issuer, owners]) => {
    const fault = discoveries.get(issuer)?.fault();
    return fault === undefined ? [] : owners.map(owner => [owner, fault] as const);
  });
}

/** Names a key once for each subject, however the file writes the key's numbers. */
function namesOf({ issuer, subjects }: TrustedKeys, { kty, crv, x, n = x }: PublicKey): readonly string[] {
  const material = Buffer.from(n ?? '', 'base64url')
    .toString('hex')
    .replace(/^(00)+/, '');
  return subjects.map(subject => JSON.stringify([issuer, subject, kty, crv, material]));
}
