import type { Attachment } from '../../src/api/attachment.ts';
import { requireKnownSecrets, secretProblem, type SecretKeys, type Secrets } from '../connector.ts';

/** The names of the secrets that unlock a volume; with the second one it is given the first in its place. */
const [currentKey, previousKey] = ['encryption-passphrase', 'encryption-passphrase-previous'] as const;
const known: SecretKeys = { [currentKey]: [], [previousKey]: [currentKey] };

/** What unlocks a volume, and what did before, where that shall not do so any more. */
export type Passphrases = { readonly current: string; readonly previous?: string | undefined };

/** Reads the passphrases of an encrypted volume; INVALID_ARGUMENT names the key of one that is missing or of no use. */
export function readPassphrases(secrets: Secrets): Passphrases {
  requireKnownSecrets(passphrasesIn(secrets), known);
  const { [currentKey]: current, [previousKey]: previous } = secrets;
  if (current === undefined)
    throw secretProblem(currentKey, 'is missing: the volume is encrypted, and nothing else unlocks it');
  if (current === previous) throw secretProblem(previousKey, `is the same as "${currentKey}"`);
  return { current, previous };
}

/** INVALID_ARGUMENT for a passphrase of a volume that is not encrypted: whoever gives one relies on it. */
export function requirePassphraseOfUse({ encryption }: Attachment, secrets: Secrets): void {
  const [key] = Object.keys(passphrasesIn(secrets));
  if (encryption === undefined && key !== undefined)
    throw secretProblem(key, 'is given, and the volume is not encrypted');
}

/** The secrets that are not for a volume's encryption, but for its connector. */
export function withoutPassphrases(secrets: Secrets): Secrets {
  return Object.fromEntries(Object.entries(secrets).filter(([key]) => !isPassphrase(key)));
}

function passphrasesIn(secrets: Secrets): Secrets {
  return Object.fromEntries(Object.entries(secrets).filter(([key]) => isPassphrase(key)));
}

function isPassphrase(key: string): boolean {
  return Object.hasOwn(known, key);
}
