import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Makes a certificate for 127.0.0.1 that is its own authority: `NAME.crt` and `NAME.key` in the directory. */
export function makeCertificate(directory: string, name: string, days = 1): void {
  const files = ['-keyout', join(directory, `${name}.key`), '-out', join(directory, `${name}.crt`)];
  const kind = [
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-days',
    `${days}`,
  ];
  const names = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1'];
  execFileSync('openssl', ['req', ...kind, ...names, ...files], { stdio: 'ignore' });
}

/** Makes certificates of a vendor in Python and of its caller: their files, and the vendor's variables. */
export function makeCertificates(directory: string) {
  for (const name of ['vendor', 'gateway']) makeCertificate(directory, name);
  const at = (file: string): string => join(directory, file);
  return {
    ca: at('vendor.crt'),
    cert: at('gateway.crt'),
    key: at('gateway.key'),
    env: {
      TOKEN: '',
      TLS_CERT: at('vendor.crt'),
      TLS_KEY: at('vendor.key'),
      TLS_CLIENT_CA: at('gateway.crt'),
    },
  };
}
