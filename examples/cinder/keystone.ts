import { Problem } from 'fairlead/vendor';

/** The settings of an OpenStack user, as an openrc file has them. */
export type Environment = Readonly<Record<string, string | undefined>>;
/** A token, and the address of Cinder that belongs to it. */
type Session = { readonly token: string; readonly endpoint: string; readonly endsAtMs: number };
type Endpoint = { readonly interface: string; readonly region_id: string; readonly url: string };
type TokenDocument = {
  readonly token: {
    readonly expires_at: string;
    readonly catalog: readonly { readonly type: string; readonly endpoints: readonly Endpoint[] }[];
  };
};

/** Renews a token so long before it ends: a request with it may take a while. */
const renewalMs = 60_000;
const volumeTypes: ReadonlySet<string> = new Set(['block-storage', 'volumev3']);

/** Signs in at Keystone. Concurrent callers share a token until it ends, is revoked, or could not be had. */
export function signInto(env: Environment) {
  const identity = toIdentity(env);
  let session: Promise<Session> | undefined;
  return {
    async session(): Promise<Session> {
      const found = await (session ??= signIn(env, identity));
      if (found.endsAtMs - renewalMs > Date.now()) return found;
      return (session = signIn(env, identity));
    },
    forget: (): void => void (session = undefined),
  };
}

async function signIn(env: Environment, identity: object): Promise<Session> {
  const url = `${need(env, 'OS_AUTH_URL').replace(/\/(v3\/?)?$/, '')}/v3/auth/tokens`;
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ auth: identity }),
    signal: AbortSignal.timeout(30_000),
  }).catch((error: unknown) => {
    throw new Problem('UNAVAILABLE', `Keystone does not answer at ${url}: ${reasonOf(error)}`);
  });
  const token = response.headers.get('x-subject-token');
  if (!response.ok || !token)
    throw new Problem('UNAVAILABLE', `Keystone answers ${response.status}: ${await response.text()}`);
  const document = (await response.json()) as TokenDocument;
  const endpoint = env['OS_VOLUME_ENDPOINT'] ?? endpointIn(document, env);
  return { token, endpoint, endsAtMs: Date.parse(document.token.expires_at) };
}

function toIdentity(env: Environment): object {
  const { OS_APPLICATION_CREDENTIAL_ID: id, OS_APPLICATION_CREDENTIAL_SECRET: secret } = env;
  if (id)
    return { identity: { methods: ['application_credential'], application_credential: { id, secret } } };
  const { OS_USER_DOMAIN_NAME = 'Default', OS_PROJECT_DOMAIN_NAME = 'Default' } = env;
  const user = {
    name: need(env, 'OS_USERNAME'),
    password: need(env, 'OS_PASSWORD'),
    domain: { name: OS_USER_DOMAIN_NAME },
  };
  return {
    identity: { methods: ['password'], password: { user } },
    scope: { project: { name: need(env, 'OS_PROJECT_NAME'), domain: { name: OS_PROJECT_DOMAIN_NAME } } },
  };
}

function endpointIn({ token }: TokenDocument, env: Environment): string {
  const { OS_INTERFACE: wanted = 'public', OS_REGION_NAME: region } = env;
  const endpoints = token.catalog.filter(({ type }) => volumeTypes.has(type)).flatMap(one => one.endpoints);
  const found = endpoints.find(one => one.interface === wanted && (!region || one.region_id === region));
  if (found) return found.url;
  throw new Problem('UNAVAILABLE', `Keystone tells no ${wanted} endpoint of Cinder; set OS_VOLUME_ENDPOINT`);
}

function need(env: Environment, name: string): string {
  const value = env[name];
  if (value) return value;
  throw new Error(`${name} is not set: load the openrc file of the OpenStack project`);
}

/** Tells why `fetch` failed, which its error itself does not. */
export function reasonOf(error: unknown): string {
  const { cause = error } = error as Error;
  return (cause as Error).message || String(cause);
}
