import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Makes a certificate for 127.0.0.1 that is its own authority: `NAME.crt` and `NAME.key` in the directory. */
export function makeCertificate(directory: string, name: string): void {
  const files = ['-keyout', join(directory, `${name}.key`), '-out', join(directory, `${name}.crt`)];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'];
  const names = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', ['req', ...kind, ...names, ...files], { stdio: 'ignore' });
}
