import { randomInt } from 'node:crypto';
import { choice, durationMs, httpUrl, integer, list, text } from '../../lib/parsers.ts';
import { allowHttpSetting } from '../../lib/settings.ts';

const onOrOff = { parse: choice('true', 'false'), default: 'false', isSwitch: true } as const;
const file = { parse: text, optional: true } as const;

/** A map as `key=value,key=value`. */
function pairs(value: string): readonly (readonly [string, string])[] {
  return list(part => {
    const [, key, own] = /^([^=]+)=(.*)$/.exec(part) ?? [];
    if (key === undefined || own === undefined) throw new Error(`"${part}" is not key=value`);
    return [key, own] as const;
  })(value);
}

/** All settings of `fairlead verify`. */
export const verifySettings = {
  url: {
    doc: "address of the vendor's server, which may stand without its flag",
    parse: httpUrl,
    optional: true,
  },
  start: {
    doc: 'in place of an address: a shell command that serves on PORT and prints "listening on URL"; it is killed and started again for the restarts',
    ...file,
  },
  'allow-http': allowHttpSetting,
  token: { doc: 'the bearer token of all calls', ...file, file: true },
  'key-file': {
    doc: "file with the private key (a JWK with kid, Ed25519 or P-256) that signs the calls' tokens",
    ...file,
  },
  issuer: { doc: "the tokens' issuer and subject", parse: text, default: 'fairlead' },
  audience: { doc: "the tokens' audience; without it the address", ...file },
  'oauth-url': {
    doc: 'where an authorization server gives tokens (client credentials)',
    parse: httpUrl,
    optional: true,
  },
  'oauth-client': { doc: 'the client there', ...file },
  'oauth-secret': { doc: 'its secret', ...file, file: true },
  'oauth-scope': { doc: 'the scope to ask for', ...file },
  cert: { doc: 'file with the certificate (PEM) of the calls, for mutual TLS', ...file },
  'cert-key': { doc: 'file with its private key (PEM)', ...file },
  ca: { doc: 'file with the certificates (PEM) that the server is trusted by', ...file },
  only: {
    doc: 'tries these requirements, sections or chapters alone, such as FL-3.2-1,FL-4',
    parse: list(text),
    default: '',
  },
  seed: {
    doc: 'what all choices of the run come from; without it another each time',
    parse: integer(0, 2 ** 31),
    optional: true,
  },
  thorough: { doc: 'tries all of what is otherwise chosen by the seed, and longer sequences', ...onOrOff },
  data: { doc: 'writes and reads bytes, where an attach protocol works on this machine', ...onOrOff },
  restart: { doc: 'a shell command that restarts the vendor, for the restarts', ...file },
  'allow-foreign': {
    doc: "goes on though the server holds volumes that are not the kit's; it leaves them alone",
    ...onOrOff,
  },
  timeout: { doc: 'how long one operation may take until it is done', parse: durationMs, default: '30s' },
  prefix: {
    doc: 'what every id begins with; for a gateway the name of the cluster and a dot',
    parse: text,
    default: 'verify.',
  },
  parameters: { doc: 'the parameters of new volumes, such as pool=fast', parse: pairs, default: '' },
  mutable: {
    doc: "mutable parameters with two values, such as tier=fast,tier=standard; without it from the vendor's schema",
    parse: pairs,
    default: '',
  },
  json: { doc: 'file that the report is written to as JSON', ...file },
  junit: { doc: 'file that the report is written to as JUnit XML', ...file },
  html: { doc: 'file that the report is written to as one page of HTML', ...file },
} as const;

/** A seed for a run that was given none. */
export function newSeed(): number {
  return randomInt(2 ** 31);
}
