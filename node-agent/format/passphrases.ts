import type { Attachment } from '../../src/api/attachment.ts';
import { requireKnownSecrets, secretProblem, type SecretKeys, type Secrets } from '../connector.ts';

/** The secrets that unlock a volume. If the second one is given too, the first replaces it. */
const [currentKey, previousKey] = ['encryption-passphrase', 'encryption-passphrase-previous'] as const;
const known: SecretKeys = { [currentKey]: [], [previousKey]: [currentKey] };

/** The passphrase of a volume, and the previous one if it is being replaced. */
export type Passphrases = { readonly current: string; readonly previous?: string | undefined };

/** Reads the passphrases of an encrypted volume; INVALID_ARGUMENT names a secret that is missing or unusable. */
export function readPassphrases(secrets: Secrets): Passphrases {
  requireKnownSecrets(passphrasesIn(secrets), known);
  const { [currentKey]: current, [previousKey]: previous } = secrets;
  if (current === undefined)
    throw secretProblem(currentKey, 'is missing: the volume is encrypted; add the secret');
  if (current === previous) throw secretProblem(previousKey, `is the same as "${currentKey}"`);
  return { current, previous };
}

/** INVALID_ARGUMENT for a passphrase of an unencrypted volume, since its caller expects encryption. */
export function requirePassphraseOfUse({ encryption }: Attachment, secrets: Secrets): void {
  const [key] = Object.keys(passphrasesIn(secrets));
  if (encryption === undefined && key !== undefined)
    throw secretProblem(
      key,
      'is given, but the volume is not encrypted; remove the secret, or encrypt the volume',
    );
}

export function withoutPassphrases(secrets: Secrets): Secrets {
  return Object.fromEntries(Object.entries(secrets).filter(([key]) => !isPassphrase(key)));
}

function passphrasesIn(secrets: Secrets): Secrets {
  return Object.fromEntries(Object.entries(secrets).filter(([key]) => isPassphrase(key)));
}

function isPassphrase(key: string): boolean {
  return Object.hasOwn(known, key);
}
