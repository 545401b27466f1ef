import { createClient } from '../../../src/api/client.ts';
import type { Call } from '../../../src/api/http.ts';
import { consolePath } from '../../../src/api/admin/console.ts';
import { fetchBody, parseBody } from '../../../src/api/http/body.ts';
import { Problem, unavailableProblem, type ProblemCode } from '../../../src/api/problem.ts';

/** The time limit of a call, in milliseconds. */
const timeoutMs = 30_000;

/** The operator of this browser's session. */
export type Operator = { readonly subject: string; readonly role: 'operator' | 'reader' };

/** The gateway that served the page. The browser sends the session's cookie with each call. */
export const client = createClient({ url: location.origin, token: () => undefined, tries: 1 });

export function call(): Call {
  return { deadlineMs: Date.now() + timeoutMs };
}

/** Returns the operator of the session; undefined if nobody is logged in. */
export async function findOperator(): Promise<Operator | undefined> {
  const answer = await ask({ method: 'GET' });
  return answer.status === 401 ? undefined : (requireOk(answer) as Operator);
}

/** Opens a session with a code of `fairlead console` or with a token. Throws the reason if there is none. */
export async function logIn(proof: { readonly code: string } | { readonly token: string }): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  requireOk(await ask({ method: 'POST', headers, body: JSON.stringify(proof) }));
  if (!(await findOperator()))
    throw unavailableProblem(
      'the browser did not keep the session: over http it does so only on the machine of the gateway; use an https address',
    );
}

/** Returns true if operators can log in at an OpenID provider. */
export async function canUseProvider(): Promise<boolean> {
  const answer = await ask({ method: 'GET' }, 'ways');
  return (requireOk(answer) as { readonly oidc: boolean }).oidc;
}

export async function logOut(): Promise<void> {
  requireOk(await ask({ method: 'DELETE' }));
}

type SessionAnswer = { readonly status: number; readonly text: string };

function ask(
  request: Pick<RequestInit, 'method' | 'headers' | 'body'>,
  path = 'session',
): Promise<SessionAnswer> {
  const source = { from: 'the gateway' };
  return fetchBody(`${consolePath}/${path}`, { ...request, timeoutMs }, source).catch((error: unknown) => {
    throw unavailableProblem('the gateway cannot be reached', error);
  });
}

/** Returns the document of an answer; throws the problem of a refusal. */
function requireOk({ status, text }: SessionAnswer): unknown {
  const document = parseBody(text);
  if (status < 300) return document;
  const { code = 'UNAVAILABLE', detail = `the gateway answers with status ${status}` } = Object(document) as {
    readonly code?: ProblemCode;
    readonly detail?: string;
  };
  throw new Problem(code, detail);
}
