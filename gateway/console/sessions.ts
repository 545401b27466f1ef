import type { JWTPayload } from 'jose';
import { createLocalJWKSet } from 'jose/jwks/local';
import { decodeProtectedHeader } from 'jose/decode/protected_header';
import { decodeJwt } from 'jose/jwt/decode';
import { jwtVerify } from 'jose/jwt/verify';
import { Problem } from '../../src/api/problem.ts';
import { consoleAudience, maxCodeMs } from '../../src/api/admin/console.ts';
import { createAuthenticate, type Enrolment } from '../callers/authenticate.ts';
import type { Caller } from '../callers/caller.ts';
import type { OwnIdentity } from '../pools/identity.ts';
import type { Engine } from '../store.ts';
import { endedTokenTable, endToken } from '../tables/ended-tokens.ts';

/** An operator logs in again after this time, in milliseconds. */
const sessionMs = 8 * 3_600_000;

/** A new session: the token that the browser keeps, and the time until it expires, in milliseconds. */
export type Session = { readonly token: string; readonly lifetimeMs: number };

/** The sessions of operators in browsers. */
export type Sessions = ReturnType<typeof createSessions>;

export type SessionOptions = {
  readonly engine: Pick<Engine, 'reader' | 'transaction'>;
  readonly identity: Pick<OwnIdentity, 'keySet' | 'sign'>;
  readonly enrolment: () => Enrolment;
  /** The required "aud" of tokens for the API. */
  readonly audience: string;
};

/** The claims that bind a session to the proof that opened it: an enrolled key, or a subject of a trusted issuer. */
type Binding = { readonly sub: string; readonly key?: string; readonly issuer?: string };

/**
 * Creates the sessions of operators in browsers. A session is a token that the gateway signs, so all replicas with its
 * key accept it. It ends after 8 hours, when its operator logs out, or once the key or subject that opened it is no
 * longer enrolled.
 */
export function createSessions({ engine, identity, enrolment, audience }: SessionOptions) {
  const own = consoleAudience(audience);
  const verifyCode = createAuthenticate(enrolment, own);
  const verifyToken = createAuthenticate(enrolment, audience);

  async function openFor({ cluster }: Caller, binding: Binding, lifetimeMs: number): Promise<Session> {
    if (cluster) throw refusedProblem('the token is of a cluster; the console is for operators');
    const nowS = Math.floor(Date.now() / 1_000);
    const times = { iat: nowS, exp: nowS + Math.floor(lifetimeMs / 1_000) };
    const claims = { ...binding, ...times, aud: own, jti: crypto.randomUUID() };
    return { token: await identity.sign(claims), lifetimeMs };
  }

  async function verifySession(token: string): Promise<JWTPayload> {
    const keys = createLocalJWKSet(await identity.keySet());
    const required = { audience: own, requiredClaims: ['exp', 'iat', 'jti', 'sub'] };
    const { payload } = await jwtVerify(token, keys, required).catch((error: unknown) => {
      throw refusedProblem('the session has expired or is unknown; log in again', error);
    });
    return payload;
  }

  return {
    /** Opens a session for a code of `fairlead console`, which is good for one session. UNAUTHENTICATED says why it is refused. */
    async openWithCode(code: string): Promise<Session> {
      const caller = await verifyCode(`Bearer ${code}`);
      const { jti, iat = 0, exp = 0 } = decodeJwt(code);
      const binding = bindingOf(caller, code, enrolment());
      // Only a key signs codes. Tokens of an OpenID provider may look like them.
      if (binding.key === undefined || typeof jti !== 'string' || (exp - iat) * 1_000 > maxCodeMs)
        throw refusedProblem('the code is not one of "fairlead console"');
      if (
        !(await engine.transaction(sql =>
          endToken(sql, `code ${caller.subject} ${jti}`, exp * 1_000 + maxCodeMs),
        ))
      )
        throw refusedProblem('the code was used before; get a new one: fairlead console');
      return openFor(caller, binding, sessionMs);
    },

    /** Opens a session for an operator's token. The session ends with the token. */
    async openWithToken(token: string): Promise<Session> {
      const caller = await verifyToken(`Bearer ${token}`);
      const { exp = 0 } = decodeJwt(token);
      const binding = bindingOf(caller, token, enrolment());
      return openFor(caller, binding, Math.min(sessionMs, exp * 1_000 - Date.now()));
    },

    /** Opens a session for a subject that its issuer has proved. UNAUTHENTICATED for a subject that is no operator. */
    async openForSubject(sub: string, issuer: string): Promise<Session> {
      const caller = findCaller({ sub, issuer }, enrolment());
      if (!caller)
        throw refusedProblem(`the subject "${sub}" of "${issuer}" is not one of "operators.oidc.subjects"`);
      return openFor(caller, { sub, issuer }, sessionMs);
    },

    /** Finds the operator of a session. UNAUTHENTICATED says why it is refused. */
    async find(token: string): Promise<Caller> {
      const { sub = '', jti = '', key, issuer } = await verifySession(token);
      const caller = findCaller({ sub, key, issuer } as Binding, enrolment());
      if (!caller) throw refusedProblem(`the key or subject "${sub}" is no longer enrolled; log in again`);
      try {
        if (!(await endedTokenTable.find(engine.reader, { id: jti }))) return caller;
      } catch {
        // While the store does not answer, an operator can still see that.
        return { ...caller, role: 'reader' };
      }
      throw refusedProblem('the session was closed; log in again');
    },

    /** Ends a session at all replicas. A token that is no session is none already. */
    async close(token: string): Promise<void> {
      const { jti = '', exp = 0 } = await verifySession(token).catch((): JWTPayload => ({}));
      if (jti !== '') await engine.transaction(sql => endToken(sql, jti, exp * 1_000));
    },
  };
}

/** Binds a session to the key that signed the token, or to the subject and issuer of a token that another party signed. */
function bindingOf({ subject = '' }: Caller, token: string, { owners }: Enrolment): Binding {
  const { iss = '' } = decodeJwt(token);
  const owner = decodeProtectedHeader(token).kid === subject ? owners.get(subject) : undefined;
  return owner?.issuer === iss ? { sub: subject, key: owner.material } : { sub: subject, issuer: iss };
}

function findCaller({ sub, key, issuer = '' }: Binding, { owners, trusted }: Enrolment): Caller | undefined {
  const owner = owners.get(sub);
  const byIssuer = (): { readonly caller: Caller } | undefined =>
    trusted.get(issuer)?.find(one => isOperator(one, sub));
  const found = key === undefined ? byIssuer() : owner?.material === key ? owner : undefined;
  return found && !found.caller.cluster ? { ...found.caller, subject: sub } : undefined;
}

function isOperator(
  { caller, subjects }: { readonly caller: Caller; readonly subjects: readonly string[] },
  subject: string,
): boolean {
  return !caller.cluster && subjects.includes(subject);
}

function refusedProblem(detail: string, cause?: unknown): Problem {
  return new Problem('UNAUTHENTICATED', detail, cause);
}
