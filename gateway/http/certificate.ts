import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:https';
import type { Log } from '../../src/lib/log.ts';
import type { GatewayConfig } from '../config.ts';

/** A certificate with its key, and how a server gets the one that is in the files later. */
export type Certificate = ReturnType<typeof openCertificate>;

/** Paths of PEM files; with `clientCa`, only who has a certificate by one of these authorities is let in. */
type CertificateFiles = {
  readonly cert: string;
  readonly key: string;
  readonly clientCa?: string | undefined;
};

/** The certificate that the settings name; undefined for plain HTTP. Throws what is wrong with them or with the files. */
export function findCertificate(
  {
    'tls-cert-file': cert,
    'tls-key-file': key,
    'tls-client-ca-file': clientCa,
  }: Pick<GatewayConfig, 'tls-cert-file' | 'tls-key-file' | 'tls-client-ca-file'>,
  log: Log,
): Certificate | undefined {
  if (cert !== undefined && key !== undefined) return openCertificate({ cert, key, clientCa }, log);
  if (clientCa !== undefined) throw new Error('--tls-client-ca-file needs --tls-cert-file');
  if (cert === key) return undefined;
  throw new Error('--tls-cert-file and --tls-key-file need each other');
}

/** Reads the PEM files, or throws. */
function openCertificate({ cert, key, clientCa }: CertificateFiles, log: Log) {
  const read = () => ({
    cert: readFileSync(cert, 'utf8'),
    key: readFileSync(key, 'utf8'),
    ...(clientCa !== undefined && { ca: readAuthorities(clientCa) }),
  });
  const first = read();
  let used = first;
  let reported = '';
  return {
    first: { ...first, ...(clientCa !== undefined && { requestCert: true, rejectUnauthorized: true }) },
    /**
     * New connections get what is in the files now, and open ones end when it was changed who is let in; what cannot be
     * used is logged once, and all stays as it was.
     */
    async renew(server: Server): Promise<void> {
      try {
        const found = read();
        if (found.cert !== used.cert || found.key !== used.key || found.ca !== used.ca) {
          server.setSecureContext(found);
          if (found.ca !== used.ca) server.closeAllConnections();
          used = found;
          log.info('the certificate was read again', { path: cert });
        }
        reported = '';
      } catch (error) {
        const detail = String(error);
        if (detail !== reported) log.error('the certificate stays as it was', { path: cert, detail });
        reported = detail;
      }
    },
  };
}

/** Without one certificate at least, those of every public authority would count. */
function readAuthorities(path: string): string {
  const pem = readFileSync(path, 'utf8');
  // It throws where there is none.
  new X509Certificate(pem).toString();
  return pem;
}
