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
 * The names that open-iscsi has for them, and that other drivers' Secrets use. With those that end in `_in` the target
 * proves itself, too. What is for discovery comes in the same Secret with others, and is not used: none is made.
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

/** What a value may have: open-iscsi holds no more (usr/idbm.h), and cuts white space off (usr/idbm.c). */
const maxValueBytes = 255;
const valuePattern = /^(?!\s)\P{Cc}+(?<!\s)$/u;

/** Where open-iscsi keeps its records: in Debian, SUSE and most others, and where it was built with its newer default. */
const directories = ['/etc/iscsi/nodes', '/var/lib/iscsi/nodes'];

/** How a session proves itself: lines of a record of open-iscsi's, or none where no secrets are given. */
export type Chap = string;

/** Reads the secrets of a volume; INVALID_ARGUMENT names the key of one that cannot be used. */
export function readChap(secrets: Secrets): Chap {
  requireKnownSecrets(secrets, known);
  const lines: string[] = [];
  for (const key of [username, password, usernameIn, passwordIn]) {
    const value = secrets[key];
    if (value === undefined) continue;
    if (!valuePattern.test(value))
      throw secretProblem(key, 'has white space at an end, a line break or another control character');
    if (Buffer.byteLength(value) > maxValueBytes)
      throw secretProblem(key, `has more than the ${maxValueBytes} bytes allowed`);
    lines.push(`${key} = ${value}\n`);
  }
  if (secrets[password] !== undefined && secrets[password] === secrets[passwordIn])
    throw secretProblem(passwordIn, `is the same as "${password}"`);
  return lines.length === 0 ? '' : `node.session.auth.authmethod = CHAP\n${lines.join('')}`;
}

/** True when the target must prove itself, too. */
export function provesTarget(chap: Chap): boolean {
  return chap.includes(`\n${passwordIn} = `);
}

/**
 * Adds to the record of a portal, which must be there, how its sessions prove themselves. iscsiadm would take it as an
 * argument only. The record can be read by root alone, and lives until it is deleted.
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
      `open-iscsi has no record of portal ${portal} in ${directories.map(path => `"${path}"`).join(' or ')}, as the agent sees them, where secrets could be put`,
    );
  for (const file of files) {
    const args = [`of=${file}`, 'bs=4096', 'iflag=fullblock', 'oflag=append', 'conv=notrunc,nocreat'];
    await runWell(host, { command: 'dd', args: [...args, 'status=none'], input: chap });
  }
}

/** A record is a file, or where the portal's group was given a directory with a file for each interface. */
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
