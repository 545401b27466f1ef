import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { jwtVerify } from 'jose/jwt/verify';
import * as z from 'zod';
import { fetchBody, parseBody } from '../../src/api/http/body.ts';
import { clockToleranceS } from '../../src/api/http/jwt.ts';
import { overloadedProblem, Problem, unavailableProblem } from '../../src/api/problem.ts';
import { reasonOf } from '../../src/lib/words/failures.ts';
import { trustedAlgorithms, type Enrolment, type TrustedCaller } from '../callers/authenticate.ts';
import { readMetadata, requireAddressOf } from '../callers/discovery.ts';
import { callbackPath } from '../../src/api/admin/console.ts';
import type { Session, Sessions } from './sessions.ts';

/** Logs operators in at their OpenID provider: authorization code with PKCE. */
export type ProviderLogin = ReturnType<typeof createProviderLogin>;

/** A provider with the console's registration there. */
type Provider = TrustedCaller & { readonly console: NonNullable<TrustedCaller['console']> };

/** The maximum age of an id token: it was made for this login. */
const maxTokenAgeS = 300;
const timeoutMs = 10_000;
const maxBytes = 2 ** 18;
/** Anyone may begin a login, and each asks the provider. */
const maxLogins = 16;

const metadataSchema = z.object({
  issuer: z.string(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
});

/**
 * Creates the logins. A login belongs to one browser, which keeps the login's secret. The state, the nonce and the
 * verifier of the code are derived from the secret, so any replica can finish the login.
 */
export function createProviderLogin(enrolment: () => Enrolment, sessions: Pick<Sessions, 'openForSubject'>) {
  let running = 0;

  function find(): Provider | undefined {
    const all = [...enrolment().trusted.values()].flat();
    return all.find((one): one is Provider => one.console !== undefined && !one.caller.cluster);
  }

  async function withProvider<T>(work: (provider: Provider) => Promise<T>): Promise<T> {
    const provider = find();
    if (!provider)
      throw new Problem(
        'NOT_FOUND',
        'the configuration has no "operators.oidc.console": log in in another way',
      );
    if (running >= maxLogins) throw overloadedProblem('too many logins are in progress; try again', 5);
    running++;
    try {
      return await work(provider);
    } finally {
      running--;
    }
  }

  return {
    isOffered: (): boolean => find() !== undefined,

    /** Begins a login. Returns its secret for the browser, and the address of the provider. */
    begin: (): Promise<{ readonly secret: string; readonly address: string }> =>
      withProvider(async ({ issuer, console: { clientId, url } }) => {
        const { authorization_endpoint: endpoint } = await readEndpoints(issuer);
        const secret = randomBytes(32).toString('base64url');
        const address = new URL(endpoint);
        const parameters = {
          response_type: 'code',
          client_id: clientId,
          redirect_uri: url + callbackPath,
          scope: 'openid',
          state: derive('state', secret),
          nonce: derive('nonce', secret),
          code_challenge: sha256(derive('verifier', secret)),
          code_challenge_method: 'S256',
        };
        for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
        return { secret, address: address.href };
      }),

    /** Finishes the login with this secret by the provider's answer. UNAUTHENTICATED says why it is refused. */
    finish: (secret: string, answer: URLSearchParams): Promise<Session> =>
      withProvider(async provider => {
        const { issuer } = provider;
        if (secret === '' || answer.get('state') !== derive('state', secret))
          throw refusedProblem('the login was begun in another browser, or too long ago; log in again');
        const endpoints = await readEndpoints(issuer);
        const named = answer.get('iss');
        const mustName = endpoints.authorization_response_iss_parameter_supported === true;
        if (named === null ? mustName : named !== issuer)
          throw refusedProblem(`the answer to the login is not of the issuer "${issuer}"`);
        const code = answer.get('code');
        if (code === null)
          throw refusedProblem(`the provider refused the login: ${wordOf(answer.get('error'))}`);
        const idToken = await exchange(provider, endpoints.token_endpoint, {
          code,
          code_verifier: derive('verifier', secret),
        });
        const subject = await verify(provider, idToken, derive('nonce', secret));
        return sessions.openForSubject(subject, issuer);
      }),
  };
}

async function readEndpoints(issuer: string): Promise<z.infer<typeof metadataSchema>> {
  try {
    const metadata = await readMetadata(issuer, metadataSchema, timeoutMs);
    for (const address of [metadata.authorization_endpoint, metadata.token_endpoint])
      requireAddressOf(issuer, address);
    return metadata;
  } catch (error) {
    throw unavailableProblem(
      `the OpenID provider cannot be used: ${reasonOf(error, 'NODE_EXTRA_CA_CERTS')}`,
      error,
    );
  }
}

/** Gets the id token for a code. */
async function exchange(
  { console: { clientId, url, secretFile } }: Provider,
  endpoint: string,
  given: Readonly<Record<string, string>>,
): Promise<string> {
  const basic = secretFile && [clientId, await readSecret(secretFile)].map(encodeURIComponent).join(':');
  const fields = {
    grant_type: 'authorization_code',
    redirect_uri: url + callbackPath,
    client_id: clientId,
    ...given,
  };
  const headers = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
    ...(basic && { authorization: `Basic ${Buffer.from(basic).toString('base64')}` }),
  };
  const request = { method: 'POST', headers, body: new URLSearchParams(fields).toString(), timeoutMs };
  const source = { from: `"${endpoint}"`, maxBytes };
  const { status, text } = await fetchBody(endpoint, request, source).catch((error: unknown) => {
    throw unavailableProblem(
      `"${endpoint}" cannot be reached: ${reasonOf(error, 'NODE_EXTRA_CA_CERTS')}`,
      error,
    );
  });
  const { id_token: idToken, error } = Object(parseBody(text)) as Readonly<Record<string, unknown>>;
  if (status >= 500) throw unavailableProblem(`"${endpoint}" answers ${status}`);
  if (status !== 200)
    throw refusedProblem(`the provider refused the login's code: ${wordOf(error)} (${status})`);
  if (typeof idToken !== 'string') throw refusedProblem(`"${endpoint}" answers without an id token`);
  return idToken;
}

/** Returns the subject of an id token that the provider made for this login of this console. */
async function verify(
  { issuer, keys, console: { clientId } }: Provider,
  idToken: string,
  nonce: string,
): Promise<string> {
  const { payload } = await jwtVerify(idToken, keys, {
    issuer,
    audience: clientId,
    algorithms: trustedAlgorithms,
    requiredClaims: ['exp', 'iat', 'sub', 'nonce'],
    maxTokenAge: maxTokenAgeS,
    clockTolerance: clockToleranceS,
  }).catch((error: unknown) => {
    throw error instanceof Problem ? error : refusedProblem('the id token is not accepted', error);
  });
  const { sub = '', aud, azp = clientId } = payload;
  if (payload['nonce'] !== nonce) throw refusedProblem('the id token was made for another login');
  if ([aud].flat().length !== 1 || azp !== clientId) throw refusedProblem('the id token is also for others');
  return sub;
}

async function readSecret(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim();
  } catch (error) {
    throw unavailableProblem(`${file}: cannot be read: ${reasonOf(error)}`, error);
  }
}

/** Derives a value that does not tell the secret, nor the values for other purposes. */
function derive(purpose: 'state' | 'nonce' | 'verifier', secret: string): string {
  return sha256(`${purpose} ${secret}`);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

/** Returns an error word of the provider; any other text is not repeated. */
function wordOf(error: unknown): string {
  return typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? error : 'no reason given';
}

function refusedProblem(detail: string, cause?: unknown): Problem {
  return new Problem('UNAUTHENTICATED', detail, cause);
}
