import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The calls that a driver may need secrets for, by the directory of their secrets. */
export const secretCalls = [
  'provision',
  'publish',
  'expand',
  'modify',
  'snapshot',
  'stage',
  'node-publish',
  'node-expand',
] as const;

export type SecretCall = (typeof secretCalls)[number];

/** Reads the secrets of a call: each file of its directory is one, named by its key. Changed files count at once. */
export type Secrets = (call: SecretCall) => Readonly<Record<string, string>>;

export function openSecrets(root: string | undefined): Secrets {
  if (root === undefined) return () => ({});
  const strangers = readdirSync(root).filter(name => !name.startsWith('.') && !isCall(name));
  if (strangers.length > 0)
    throw new Error(
      `"${root}" has "${strangers.join('", "')}"; the directories of secrets are ${secretCalls.join(', ')}`,
    );
  return call => {
    const directory = join(root, call);
    if (!existsSync(directory)) return {};
    // A mounted Secret of Kubernetes keeps its versions in entries that begin with a dot.
    const keys = readdirSync(directory).filter(key => !key.startsWith('.'));
    return Object.fromEntries(keys.map(key => [key, readFileSync(join(directory, key), 'utf8')]));
  };
}

function isCall(name: string): name is SecretCall {
  return (secretCalls as readonly string[]).includes(name);
}
