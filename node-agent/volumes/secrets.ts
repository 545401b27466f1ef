import { Problem } from '../../src/api/problem.ts';

/**
 * What a caller tells for one call and nobody else may learn (CSI `secrets`), by key. It is never recorded or logged, is
 * in no error, and is no argument of a command, since everybody on a machine can read those.
 */
export type Secrets = Readonly<Record<string, string>>;

/** The keys that may be given, and for each those that must be given with it. */
export type SecretKeys = Readonly<Record<string, readonly string[]>>;

/** INVALID_ARGUMENT names a key that is unknown, empty, or of no use without another; never a value. */
export function checkSecrets(secrets: Secrets, known: SecretKeys): void {
  for (const [key, value] of Object.entries(secrets)) {
    if (!Object.hasOwn(known, key))
      throw invalid(key, `is not known; there are ${Object.keys(known).join(', ')}`);
    if (value === '') throw invalid(key, 'is empty');
    const missing = known[key]?.find(other => secrets[other] === undefined);
    if (missing !== undefined) throw invalid(key, `is given without "${missing}"`);
  }
}

/** INVALID_ARGUMENT that names the secret by its key; `fault` says nothing of its value. */
export function invalid(key: string, fault: string): Problem {
  return new Problem('INVALID_ARGUMENT', `secret "${key}" ${fault}`);
}
