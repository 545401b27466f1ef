/** Stands for the flag or the member of the file that names trusted authorities. */
const authorities = 'CA-FILE';

const untrusted = `has a certificate of an authority that is not trusted here; give that authority's PEM file with ${authorities}`;
const silent = 'does not answer; check the address, the server, and the firewalls on the way';
const closed =
  'closed the connection before it answered; if it happens again, check the server, and whether it speaks http or https';
const late = 'took the request but did not answer in time; look at its log';
const notTls = 'does not speak TLS there; correct the port, or write http:// if that is meant';
const notHttp = 'does not speak HTTP there; correct the port, or write https:// if that is meant';
const noClient = 'requires a client certificate that it trusts; give one';
const noRoute = 'cannot be reached from this network; check the address and the routes';
const denied = 'cannot be used: permission denied';

/** The part at fault: this machine, or a server that is silent, answers with errors, or is another than the expected one. */
type Party = 'here' | 'silent' | 'errors' | 'foreign';
type KnownFailure = { readonly party: Party; readonly predicate: string };

/**
 * The failures of files, connections, TLS and databases, by the part at fault and by the code that a library or the system
 * reports. Each names the fault of the file, the server or the database, and then the remedy. A SQLSTATE class has two
 * characters.
 */
const predicates: Readonly<Record<Party, Readonly<Record<string, string>>>> = {
  // Files and addresses of this machine, and this side of a connection.
  here: {
    EADDRINUSE: 'is already in use',
    EADDRNOTAVAIL: 'is not an address of this machine',
    EACCES: denied,
    EPERM: denied,
    EROFS: 'cannot be written: its filesystem is read-only',
    ENOENT: 'does not exist, or its directory does not',
    EEXIST: 'already exists',
    EISDIR: 'is a directory, not a file',
    ENOTDIR: 'is not a directory, or a part of its path is a file',
    ENOTEMPTY: 'is not empty',
    ELOOP: 'is a link where a file is needed, or a circle of links',
    ENAMETOOLONG: 'has too long a name',
    ENOSPC: 'is on a full disk',
    EDQUOT: 'is over the quota of its disk',
    EIO: 'cannot be read or written: its disk reports errors',
    EMFILE: 'cannot be opened: this process has too many open files',
    ENFILE: 'cannot be opened: this machine has too many open files',
    EBUSY: 'is in use by another process, or something is mounted there',
    ETXTBSY: 'is a program that is running, and cannot be changed',
    EXDEV: 'is on another filesystem',
    EFBIG: 'is larger than its filesystem, or the limit of this process, allows',
    EMLINK: 'has the maximum number of links',
    EUCLEAN: 'is damaged; check its filesystem',
    ENODEV: 'is a device that is missing',
    ENXIO: 'is a device that is missing',
    EINVAL: 'does not allow this operation',
    EOPNOTSUPP: 'is on a filesystem that does not allow this',
    ENOTSUP: 'is on a filesystem that does not allow this',
    ENOSYS: 'requires a newer kernel',
    ENOMEM: 'needs more memory than this machine has free',
    ESTALE: 'is on a network filesystem that no longer knows it; mount it again',
    UND_ERR_DESTROYED: 'is no longer called: this program is ending',
    UND_ERR_CLOSED: 'is no longer called: this program is ending',
    ERR_INVALID_URL: 'is not an address; write it as https://HOST:PORT',
    ERR_OSSL_X509_KEY_VALUES_MISMATCH:
      'gets a client certificate whose key is another one; give both files of one pair',
  },
  // Servers that cannot be reached, or do not answer.
  silent: {
    ECONNREFUSED: 'refuses connections; start the server there, or correct the address',
    ECONNRESET: closed,
    EPIPE: closed,
    UND_ERR_SOCKET: closed,
    ENOTFOUND: 'has an unknown host name; correct the name, or add it to the DNS',
    EAI_AGAIN: 'has a host name that no name server answers for; check the DNS of this machine',
    ETIMEDOUT: silent,
    TimeoutError: silent,
    UND_ERR_CONNECT_TIMEOUT: silent,
    UND_ERR_HEADERS_TIMEOUT: late,
    UND_ERR_BODY_TIMEOUT: late,
    EHOSTUNREACH: noRoute,
    ENETUNREACH: noRoute,
    EHOSTDOWN: noRoute,
  },
  // Servers and databases that refuse, or answer with a fault.
  errors: {
    CERT_HAS_EXPIRED: "has a certificate that has expired; renew it, or set this machine's clock",
    CERT_NOT_YET_VALID: "has a certificate that is not valid yet; set this machine's clock",
    CERT_SIGNATURE_FAILURE: 'has a certificate that its authority did not sign; replace it',
    ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: noClient,
    ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: noClient,
    ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE: noClient,
    ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: noClient,
    HPE_HEADER_OVERFLOW: 'sends too many headers; look at the server',
    // PostgreSQL.
    '28000': 'does not admit this user from here; create the user, or allow it in pg_hba.conf',
    '28P01': "does not accept this user's password; correct the password in the URL",
    '3D000': 'does not exist; create it, or correct the name in the URL',
    '42501': 'does not give this user the rights; make the user the owner of the database',
    '25006': 'is read-only; use the address of the primary',
    '53100': 'has a full disk; free some space',
    '53200': 'has no memory left; free some',
    '53300': 'has no free connection; raise its max_connections',
    '55P03': 'did not give a lock in time, because other transactions hold it',
    '57014': 'cancelled the statement; look at its log',
    '57P01': 'is shutting down; start it again',
    '57P03': 'is starting or shutting down; wait until it has started',
    '08': 'broke the connection; look at its log',
    '22': 'does not accept a value; look at its log',
    '23': 'found records that contradict each other; look at its log',
    '25': 'ended the transaction; look at its log',
    '40': 'had to choose between transactions at the same time; try again',
    '42': 'does not have the tables of this version; look at its log',
    '53': 'has too few resources; look at its log',
    '57': 'was interrupted by its operator; look at its log',
    '58': 'has a failure of its machine; look at its log',
    XX: 'has an internal failure; look at its log',
  },
  // Servers with another protocol than the expected one, or with the certificate of another server.
  foreign: {
    DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
    SELF_SIGNED_CERT_IN_CHAIN: untrusted,
    UNABLE_TO_GET_ISSUER_CERT: untrusted,
    UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
    UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
    CERT_UNTRUSTED: untrusted,
    ERR_TLS_CERT_ALTNAME_INVALID:
      'has a certificate for other names; use an address that it names, or renew it for this one',
    ERR_SSL_WRONG_VERSION_NUMBER: notTls,
    ERR_SSL_PACKET_LENGTH_TOO_LONG: notTls,
    EPROTO: notTls,
    HPE_INVALID_CONSTANT: notHttp,
    HPE_INVALID_HEADER_TOKEN: notHttp,
    HPE_INVALID_VERSION: notHttp,
  },
};
const known: ReadonlyMap<string, KnownFailure> = new Map(
  Object.entries(predicates).flatMap(([party, rows]) =>
    Object.entries(rows).map(([code, predicate]) => [code, { party: party as Party, predicate }] as const),
  ),
);

/** The names of errors of Linux for which Node.js has only numbers. */
const unnamed: Readonly<Record<string, string>> = {
  'Unknown system error -116': 'ESTALE',
  'Unknown system error -117': 'EUCLEAN',
  'Unknown system error -122': 'EDQUOT',
};

/** Returns the system's name of an error code. */
export function nameOfCode(code: string): string {
  return unnamed[code] ?? code;
}

/** An error. The one of `AbortSignal.timeout` has a number as its code. */
type Failure = {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
  readonly errors?: readonly unknown[];
};

/**
 * Says in words what a file, a server or a database does and what to do about it, to follow its name: `refuses
 * connections; …`. Undefined for an error without a known code. `authoritiesFrom` is the setting that names trusted
 * authorities.
 */
export function predicateOf(error: unknown, authoritiesFrom = '--ca-file'): string | undefined {
  return findFailure(error)?.predicate.replace(authorities, authoritiesFrom);
}

/** Returns how a server failed; undefined for a failure of this machine. A server without a known failure is silent. */
export function outageOf(error: unknown): Exclude<Party, 'here'> | undefined {
  const party = findFailure(error)?.party ?? 'silent';
  return party === 'here' ? undefined : party;
}

/** Finds the first known code among an error and its causes. */
function findFailure(error: unknown): KnownFailure | undefined {
  const { name, code, cause, errors } = Object(error) as Failure;
  const own = typeof code === 'string' ? nameOfCode(code) : String(name);
  return (
    known.get(own) ??
    ofClass(own) ??
    [...(errors ?? []), ...(cause === undefined ? [] : [cause])]
      .map(findFailure)
      .find(found => found !== undefined)
  );
}

/** Says why something failed, as a sentence about it: `it does not exist …`; an unknown error by its own message. */
export function reasonOf(error: unknown, authoritiesFrom?: string): string {
  const predicate = predicateOf(error, authoritiesFrom);
  return predicate === undefined ? messageOf(error) : `it ${predicate}`;
}

function ofClass(code: string): KnownFailure | undefined {
  return /^[0-9A-Z]{5}$/.test(code) ? known.get(code.slice(0, 2)) : undefined;
}

/** Returns the error's message on one line, without the code that Node.js writes before the system's words. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  const own = code !== undefined && error.message.startsWith(`${code}: `) ? code.length + 2 : 0;
  const text = error.message.slice(own) || `unknown failure "${code ?? error.name}"`;
  return text.replaceAll(/\s*\n\s*/g, ' ');
}
