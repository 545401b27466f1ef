import { readFileSync } from 'node:fs';
import type { Server } from 'node:https';
import type { Log } from '../../src/lib/log.ts';

/** A certificate with its key, and how a server gets the one that is in the files later. */
export type Certificate = ReturnType<typeof openCertificate>;

/** Reads the PEM files, or throws. */
export function openCertificate(certFile: string, keyFile: string, log: Log) {
  const read = () => ({ cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') });
  const first = read();
  let used = first;
  let reported = '';
  return {
    first,
    /** New connections get what is in the files now; what cannot be used is logged once, and all stays as it was. */
    async renew(server: Server): Promise<void> {
      try {
        const found = read();
        if (found.cert !== used.cert || found.key !== used.key) {
          server.setSecureContext(found);
          used = found;
          log.info('the certificate was read again', { path: certFile });
        }
        reported = '';
      } catch (error) {
        const detail = String(error);
        if (detail !== reported) log.error('the certificate stays as it was', { path: certFile, detail });
        reported = detail;
      }
    },
  };
}
