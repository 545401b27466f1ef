import { preconditionProblem } from '../../../src/api/problem.ts';
import { hostPort } from '../../../src/lib/parsers.ts';
import { runWell } from '../../host/commands.ts';
import type { Host } from '../../host.ts';
import { requireKnownSecrets, secretProblem, type SecretKeys, type Secrets } from '../../connector.ts';

const [username, password, usernameIn, passwordIn] = [
  'node.session.auth.username',
  'node.session.auth.password',
  'node.session.auth.username_in',
  'node.session.auth.password_in',
] as const;

/**
 * The secrets, named as in open-iscsi and in the Secrets of other drivers. Secrets that end in `_in` also authenticate the
 * target. Secrets for discovery are accepted but unused, since the agent does no discovery.
 */
const known: SecretKeys = {
  [username]: [password],
  [password]: [username],
  [usernameIn]: [passwordIn, username],
  [passwordIn]: [usernameIn, username],
  'discovery.sendtargets.auth.username': [],
  'discovery.sendtargets.auth.password': [],
  'discovery.sendtargets.auth.username_in': [],
  'discovery.sendtargets.auth.password_in': [],
};

/** The limits of a value: open-iscsi's maximum length (usr/idbm.h), and no outer white space, which it removes (usr/idbm.c). */
const maxValueBytes = 255;
const valuePattern = /^(?!\s)\P{Cc}+(?<!\s)$/u;

/** The directories of open-iscsi's records: the one of Debian, SUSE and most distributions, and open-iscsi's newer default. */
const directories = ['/etc/iscsi/nodes', '/var/lib/iscsi/nodes'];

/** The CHAP lines for a record of open-iscsi; empty without secrets. */
export type Chap = string;

/** Reads the secrets of a volume; INVALID_ARGUMENT names a secret that cannot be used. */
export function readChap(secrets: Secrets): Chap {
  requireKnownSecrets(secrets, known);
  const lines: string[] = [];
  for (const key of [username, password, usernameIn, passwordIn]) {
    const value = secrets[key];
    if (value === undefined) continue;
    if (!valuePattern.test(value))
      throw secretProblem(
        key,
        'has white space at an end, a line break or another control character; remove it',
      );
    if (Buffer.byteLength(value) > maxValueBytes)
      throw secretProblem(key, `has more than the ${maxValueBytes} bytes allowed`);
    lines.push(`${key} = ${value}\n`);
  }
  if (secrets[password] !== undefined && secrets[password] === secrets[passwordIn])
    throw secretProblem(passwordIn, `is the same as "${password}"`);
  return lines.length === 0 ? '' : `node.session.auth.authmethod = CHAP\n${lines.join('')}`;
}

/** True if the target must authenticate itself too. */
export function provesTarget(chap: Chap): boolean {
  return chap.includes(`\n${passwordIn} = `);
}

/**
 * Appends the CHAP lines to a portal's existing record, since iscsiadm would take the secrets only as arguments. Only root can
 * read the record, which stays until it is deleted.
 */
export async function recordChap(
  chap: Chap,
  portal: string,
  { target, host }: { readonly target: string; readonly host: Host },
): Promise<void> {
  const { host: ip, port } = hostPort(portal);
  const name = `${ip},${port}`;
  const found = directories.map(directory => findRecords(`${directory}/${target}`, name, host));
  const files = (await Promise.all(found)).flat();
  if (files.length === 0)
    throw preconditionProblem(
      `open-iscsi has no record of portal ${portal} in ${directories.map(path => `"${path}"`).join(' or ')}, so CHAP cannot be used; mount the node's directory into the agent's container`,
    );
  for (const file of files) {
    const args = [`of=${file}`, 'bs=4096', 'iflag=fullblock', 'oflag=append', 'conv=notrunc,nocreat'];
    await runWell(host, { command: 'dd', args: [...args, 'status=none'], input: chap });
  }
}

/** Lists the files of a record: the record itself, or a file per interface if the record is a directory. */
async function findRecords(directory: string, name: string, host: Host): Promise<readonly string[]> {
  const files: string[] = [];
  for (const entry of await host.list(directory)) {
    if (entry !== name && !entry.startsWith(`${name},`)) continue;
    const path = `${directory}/${entry}`;
    if ((await host.kindOf(path)) !== 'directory') files.push(path);
    else files.push(...(await host.list(path)).map(file => `${path}/${file}`));
  }
  return files;
}
