import { randomInt } from 'node:crypto';
import { csiDriver } from '../api/attachments/csi-driver.ts';
import { durationMs, httpUrl, integer, list, text } from '../lib/parsers.ts';
import { allowHttpSetting, onOrOff } from '../lib/settings.ts';

const file = { parse: text, optional: true } as const;

/** Reads pairs such as `key=value,key=value`. */
function pairs(value: string): readonly (readonly [string, string])[] {
  return list(part => {
    const [, key, own] = /^([^=]+)=(.*)$/.exec(part) ?? [];
    if (key === undefined || own === undefined) throw new Error(`"${part}" does not have the form key=value`);
    return [key, own] as const;
  })(value);
}

export const verifySettings = {
  url: { doc: "address of the vendor's server", parse: httpUrl, optional: true },
  start: {
    doc: 'in place of --url: a shell command that serves on the port in PORT and prints "listening on URL"; the kit kills and restarts it for the restart checks',
    ...file,
  },
  'allow-http': allowHttpSetting,
  token: { doc: 'bearer token for all calls', ...file, file: true },
  'key-file': {
    doc: "file with the private key (a JWK with kid, Ed25519 or P-256) that signs the calls' tokens",
    ...file,
  },
  issuer: { doc: 'issuer and subject of the tokens', parse: text, default: 'fairlead' },
  audience: { doc: 'audience of the tokens; default: the address of the server', ...file },
  'oauth-url': {
    doc: 'token endpoint of an authorization server (OAuth client credentials)',
    parse: httpUrl,
    optional: true,
  },
  'oauth-client': { doc: 'client id for --oauth-url', ...file },
  'oauth-secret': { doc: 'client secret for --oauth-url', ...file, file: true },
  'oauth-scope': { doc: 'scope to request from --oauth-url', ...file },
  'tls-cert-file': { doc: 'PEM file with a client certificate, for mutual TLS', ...file },
  'tls-key-file': { doc: 'PEM file with the private key of --tls-cert-file', ...file },
  'ca-file': { doc: "PEM file with the certificates that sign the server's certificate", ...file },
  only: {
    doc: 'check only these requirements, sections or chapters, such as FL-3.2-1,FL-4',
    parse: list(text),
    default: '',
  },
  'fail-fast': { doc: 'end the run at the first requirement that does not hold', ...onOrOff },
  seed: {
    doc: 'seed of all random choices, to repeat a run; default: a new one each time',
    parse: integer(0, 2 ** 31),
    optional: true,
  },
  thorough: { doc: 'check every case instead of a random choice, and longer sequences of calls', ...onOrOff },
  data: {
    doc: 'write and read bytes through attached volumes, if this machine supports the protocol',
    ...onOrOff,
  },
  'csi-drivers': {
    doc: 'for --data through protocol csi: the sockets of node plugins on this machine, as NAME=SOCKET; the bridge must offer only the access type block',
    parse: list(csiDriver),
    optional: true,
  },
  restart: { doc: 'shell command that restarts the vendor, for the restart checks', ...file },
  'create-existing': {
    doc: 'for the feature import: a shell command that makes a new volume with the CSI driver and prints it as JSON (driver, handle, context, sizeBytes, sha256 of its bytes for --data); the kit imports and deletes it',
    ...file,
  },
  'allow-foreign': {
    doc: 'run even if the server holds volumes that the kit did not create; the kit does not touch them',
    ...onOrOff,
  },
  timeout: {
    doc: 'time limit for one operation, from the first request until it is done; a check that takes ten times as long ends with WARN',
    parse: durationMs,
    default: '30s',
  },
  prefix: {
    doc: 'prefix of every id; for a gateway the name of the cluster and a dot',
    parse: text,
    default: 'verify.',
  },
  parameters: { doc: 'parameters of new volumes, such as pool=fast', parse: pairs, default: '' },
  mutable: {
    doc: "a mutable parameter with two values, such as tier=fast,tier=standard; default: from the vendor's schema",
    parse: pairs,
    default: '',
  },
  json: { doc: 'write the report as JSON to this file', ...file },
  junit: { doc: 'write the report as JUnit XML to this file', ...file },
  html: { doc: 'write the report as one HTML page to this file', ...file },
} as const;

export function newSeed(): number {
  return randomInt(2 ** 31);
}
