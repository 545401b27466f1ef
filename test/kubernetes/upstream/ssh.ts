import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Node } from '../cluster/node.ts';
import type { Site } from '../cluster/site.ts';

/**
 * Serves SSH on nodes, with the commands `systemctl`, which stops and starts kubelet alone, and `sudo`. Returns the path
 * of a key for clients.
 */
export function serveSsh(site: Site, nodes: readonly Node[]): string {
  const directory = join(site.directory, 'ssh');
  const commands = join(directory, 'commands');
  mkdirSync(commands, { recursive: true });
  for (const name of ['systemctl', 'sudo']) {
    copyFileSync(join(import.meta.dirname, `${name}.sh`), join(commands, name));
    chmodSync(join(commands, name), 0o755);
  }
  const path = `PATH=${commands}:${process.env['PATH'] ?? ''}`;
  for (const node of nodes) node.namespace.start('sshd', ['env', path, join(site.bin, 'sshd')]);
  const key = join(directory, 'key.pem');
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(key, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  return key;
}
