import { createLocalJWKSet } from 'jose/jwks/local';
import type { JSONWebKeySet } from 'jose';
import type { KeyOwner, Trusted } from '../http/auth.ts';
import { discoverKeys, type Discovery } from './discovery.ts';
import { heldByFaulty, isNewcomer, isSame } from './enrolment.ts';
import type { PublicKey } from './keys.ts';

/** Who calls with tokens that an issuer signs, with the issuer's keys; without them: as it publishes them. */
export type TrustedKeys = Omit<Trusted, 'keys'> & {
  readonly keys: readonly PublicKey[] | undefined;
  /** Whether the file that has them cannot be read or used. */
  readonly isAtFault?: boolean | undefined;
};

/** All callers with such tokens by issuer, who has which key of a file for which subject, and the issuers that publish theirs. */
export type Trust = {
  readonly trusted: ReadonlyMap<string, readonly Trusted[]>;
  readonly owners: ReadonlyMap<string, KeyOwner>;
  readonly discoveries: ReadonlyMap<string, Discovery>;
};

/**
 * Takes all issuers in. A key that two callers have in their files for one subject of an issuer stays with who had it in
 * `last`, also while that one's file is at fault, or is that of the first, so that nobody takes or spoils another's
 * tokens; that is reported.
 */
export function createTrust(
  declared: readonly TrustedKeys[],
  report: (owner: KeyOwner, fault: string) => void,
  last?: Trust,
): Trust {
  const owners = heldByFaulty(last?.owners, declared);
  const discoveries = new Map<string, Discovery>();
  const claim = (one: TrustedKeys, key: PublicKey): boolean => {
    const names = namesOf(one, key);
    const isFree = names.every(name => isSame(one, owners.get(name) ?? one));
    if (isFree) for (const name of names) owners.set(name, one);
    else report(one, `the key with kid "${key.kid}" is enrolled for the same issuer and subject already`);
    return isFree;
  };
  const claimed = declared
    .flatMap(one =>
      (one.keys ?? []).map(key => ({ one, key, isNew: isNewcomer(one, namesOf(one, key), last?.owners) })),
    )
    .toSorted((first, second) => Number(first.isNew) - Number(second.isNew))
    .filter(({ one, key }) => claim(one, key));
  const keysOf = (one: TrustedKeys): Trusted['keys'] => {
    const { issuer } = one;
    if (one.keys) {
      const keys = claimed.filter(claimedKey => claimedKey.one === one).map(({ key }) => key);
      return createLocalJWKSet({ keys } as JSONWebKeySet);
    }
    const discover = (): Discovery => last?.discoveries.get(issuer) ?? discoverKeys(issuer);
    return discoveries.getOrInsertComputed(issuer, discover).keys;
  };
  const all = declared.map((one): Trusted => ({ ...one, keys: keysOf(one) }));
  return { trusted: Map.groupBy(all, ({ issuer }) => issuer), owners, discoveries };
}

/** Why the keys of issuers could not be had when they were asked last, with who waits for each. */
export function discoveryFaults({ trusted, discoveries }: Trust): readonly (readonly [KeyOwner, string])[] {
  return [...trusted].flatMap(([issuer, owners]) => {
    const fault = discoveries.get(issuer)?.fault();
    return fault === undefined ? [] : owners.map(owner => [owner, fault] as const);
  });
}

/** One for each subject; the same for every way to write the key. */
function namesOf({ issuer, subjects }: TrustedKeys, { kty, crv, x, n = x }: PublicKey): readonly string[] {
  const material = Buffer.from(n ?? '', 'base64url')
    .toString('hex')
    .replace(/^(00)+/, '');
  return subjects.map(subject => JSON.stringify([issuer, subject, kty, crv, material]));
}
