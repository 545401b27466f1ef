import { createPrivateKey, X509Certificate } from 'node:crypto';

type PemFile = { readonly path: string; readonly text: string };

/** Returns the first certificate of a file. Throws one line if there is none. */
export function readCertificate({ path, text }: PemFile): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch (error) {
    throw new Error(`"${path}" holds no certificate in PEM form`, { cause: error });
  }
}

/** Throws one line unless the file holds a private key, and that of the certificate if one is given. */
export function requirePrivateKey({ path, text }: PemFile, certificate?: X509Certificate): void {
  let isOwn: boolean;
  try {
    const key = createPrivateKey(text);
    isOwn = certificate?.checkPrivateKey(key) ?? true;
  } catch (error) {
    throw new Error(`"${path}" holds no private key in PEM form without a passphrase`, { cause: error });
  }
  if (!isOwn) throw new Error(`"${path}" holds the key of another certificate; give both files of one pair`);
}
