import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { signAs, type IssuerKey } from '../../fakes/issuer.ts';
import { listen } from '../listen.ts';
import type { CleanupScope } from '../temporary.ts';

/** The client that is registered at the provider. */
type Client = { readonly id: string; readonly redirect: string; readonly secret?: string };

/** The faults of a provider. Claims replace those of the id token; undefined removes one. */
export type ProviderFaults = {
  metadata?: object;
  claims?: Readonly<Record<string, unknown>> & { readonly header?: object };
  /** The key that signs, in place of the published one. */
  key?: IssuerKey;
  /** Parameters that replace those of the answer to the browser; undefined removes one. */
  answer?: Readonly<Record<string, string | undefined>>;
  /** Answers a request for tokens. */
  token?: (response: ServerResponse) => void;
};

/** An OpenID provider on loopback, at which everybody is logged in already, as `subject`. */
export type Provider = {
  readonly url: string;
  readonly client: Client;
  readonly faults: ProviderFaults;
  subject: string;
};

type Grant = { readonly challenge: string; readonly nonce: string };

/** Starts a provider that ends with the test. It keeps the rules of OpenID Connect Core 1.0, RFC 7636 and RFC 9207. */
export async function startProvider(t: CleanupScope, key: IssuerKey, client: Client): Promise<Provider> {
  const grants = new Map<string, Grant>();
  const server = createServer(
    (request, response) =>
      void serve(request, response).catch((error: Error) => response.writeHead(400).end(error.message)),
  );
  // For browsers this is another site than the gateway at 127.0.0.1.
  const host = (await listen(t, server)).replace('127.0.0.1', 'localhost');
  const provider: Provider = { url: `http://${host}`, client, faults: {}, subject: 'ann' };
  return provider;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', provider.url);
    if (pathname === '/.well-known/openid-configuration') return answer(response, 200, describe());
    if (pathname === '/keys') return answer(response, 200, { keys: [key.publicJwk] });
    if (pathname === '/authorize') return authorize(searchParams, response);
    if (pathname === '/token') return exchange(request, response);
    return answer(response, 404, {});
  }

  function describe(): object {
    const { url, faults } = provider;
    const endpoints = { authorization_endpoint: `${url}/authorize`, token_endpoint: `${url}/token` };
    const more = { jwks_uri: `${url}/keys`, authorization_response_iss_parameter_supported: true };
    return { issuer: url, ...endpoints, ...more, ...faults.metadata };
  }

  function authorize(asked: URLSearchParams, response: ServerResponse): void {
    const ask = (name: string): string => asked.get(name) ?? '';
    const isRegistered = ask('client_id') === client.id && ask('redirect_uri') === client.redirect;
    const isWhole = ask('response_type') === 'code' && ask('scope').split(' ').includes('openid');
    const hasProof = ask('code_challenge_method') === 'S256' && ask('code_challenge').length === 43;
    if (!isRegistered || !isWhole || !hasProof) return answer(response, 400, { error: 'invalid_request' });
    const code = randomUUID();
    grants.set(code, { challenge: ask('code_challenge'), nonce: ask('nonce') });
    const address = new URL(client.redirect);
    const usual = { code, state: ask('state'), iss: provider.url };
    for (const [name, value] of Object.entries({ ...usual, ...provider.faults.answer }))
      if (value !== undefined) address.searchParams.set(name, value);
    response.writeHead(302, { location: address.href }).end();
  }

  async function exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (provider.faults.token) return provider.faults.token(response);
    const given = new URLSearchParams(await text(request));
    const code = given.get('code') ?? '';
    const grant = grants.get(code);
    grants.delete(code);
    if (request.headers.authorization !== expectedAuthorization())
      return answer(response, 401, { error: 'invalid_client' });
    const verifier = createHash('sha256')
      .update(given.get('code_verifier') ?? '')
      .digest('base64url');
    const isOfClient = given.get('client_id') === client.id && given.get('redirect_uri') === client.redirect;
    const isCode = given.get('grant_type') === 'authorization_code' && grant?.challenge === verifier;
    if (!isOfClient || !isCode) return answer(response, 400, { error: 'invalid_grant' });
    const { faults, url, subject } = provider;
    const claims = { sub: subject, aud: client.id, nonce: grant.nonce, ...faults.claims };
    const token = await signAs(url, faults.key ?? key, claims);
    return answer(response, 200, { access_token: randomUUID(), token_type: 'Bearer', id_token: token });
  }

  function expectedAuthorization(): string | undefined {
    if (client.secret === undefined) return undefined;
    const pair = [client.id, client.secret].map(encodeURIComponent).join(':');
    return `Basic ${Buffer.from(pair).toString('base64')}`;
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
