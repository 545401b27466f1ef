import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:https';
import { describeStartFault } from '../../src/lib/lifecycle.ts';
import type { Log } from '../../src/lib/log.ts';
import { readCertificate, requirePrivateKey } from '../../src/api/http/pem.ts';
import type { GatewayConfig } from '../config.ts';

export type Certificate = ReturnType<typeof openCertificate>;

/** Paths of PEM files. With `clientCa`, clients need a certificate of one of its authorities. */
type CertificateFiles = {
  readonly cert: string;
  readonly key: string;
  readonly clientCa?: string | undefined;
};

/** Opens the certificate of the settings; undefined for plain HTTP. Throws for faults of the settings or the files. */
export function findCertificate(
  {
    'tls-cert-file': cert,
    'tls-key-file': key,
    'tls-client-ca-file': clientCa,
  }: Partial<Pick<GatewayConfig, 'tls-cert-file' | 'tls-key-file' | 'tls-client-ca-file'>>,
  log: Log,
): Certificate | undefined {
  if (cert !== undefined && key !== undefined) return openCertificate({ cert, key, clientCa }, log);
  if (clientCa !== undefined)
    throw new Error('--tls-client-ca-file needs TLS; set --tls-cert-file and --tls-key-file');
  if (cert === key) return undefined;
  throw new Error('set both --tls-cert-file and --tls-key-file, or neither');
}

const warnBeforeMs = 7 * 86_400_000;

/** Throws if the certificate is not valid now. Returns a sentence if it expires within 7 days. */
export function judgeValidity(pem: string, nowMs: number): string | undefined {
  const { validFromDate: from, validToDate: to } = new X509Certificate(pem);
  if (from.getTime() > nowMs)
    throw new Error(`it is valid only from ${from.toISOString()} on; check the clock of this machine`);
  if (to.getTime() <= nowMs) throw new Error(`it expired at ${to.toISOString()}; renew it`);
  return to.getTime() > nowMs + warnBeforeMs ? undefined : `it expires at ${to.toISOString()}; renew it`;
}

/** Reads the PEM files. Throws for a faulty one. */
function openCertificate({ cert, key, clientCa }: CertificateFiles, log: Log) {
  const read = () => {
    const pair = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
    const certificate = readCertificate({ path: cert, text: pair.cert });
    requirePrivateKey({ path: key, text: pair.key }, certificate);
    return { ...pair, ...(clientCa !== undefined && { ca: readAuthorities(clientCa) }) };
  };
  const first = read();
  let used = first;
  let reported = '';
  return {
    first: { ...first, ...(clientCa !== undefined && { requestCert: true, rejectUnauthorized: true }) },
    /**
     * Reads the files again. New connections get the new certificate. Open connections end when the client
     * authorities have changed. If the files are faulty, the old certificate stays, and the fault is logged once.
     */
    async renew(server: Server): Promise<void> {
      try {
        const found = read();
        if (found.cert !== used.cert || found.key !== used.key || found.ca !== used.ca) {
          server.setSecureContext(found);
          if (found.ca !== used.ca) server.closeAllConnections();
          used = found;
          log.info('read the certificate again', { path: cert });
        }
        reported = '';
      } catch (error) {
        const detail = describeStartFault(error);
        if (detail !== reported)
          log.error('cannot read the certificate again; the old one stays in use', { path: cert, detail });
        reported = detail;
      }
    },
  };
}

/** Reads authorities. Throws for a file without a certificate, because Node would then trust every public authority. */
function readAuthorities(path: string): string {
  const pem = readFileSync(path, 'utf8');
  // The constructor throws for a text without a certificate.
  new X509Certificate(pem).toString();
  return pem;
}
