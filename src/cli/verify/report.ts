import { isFinding } from './finding.ts';
import { leastTokenLength } from './http/credentials.ts';
import { toCurl, type Exchange, type Incoming, type Target } from './http/exchange.ts';
import { requirements, type RequirementId } from './requirements.ts';

/** What came of a check. WARN: a SHOULD that does not hold. */
export type Outcome = 'PASS' | 'FAIL' | 'WARN' | 'SKIP';

/** What shows that a requirement does not hold: no credentials are in it. */
export type Failure = {
  readonly expected: string;
  readonly exchange?: Exchange | undefined;
  /** The request for a shell, with the credentials in a variable. */
  readonly curl?: string | undefined;
  /** The last exchanges before it. */
  readonly trail: readonly Exchange[];
};

/** What came of one requirement. */
export type Result = {
  readonly id: RequirementId;
  readonly level: 'MUST' | 'SHOULD';
  readonly text: string;
  readonly outcome: Outcome;
  /** Why it was skipped. */
  readonly because?: string | undefined;
  readonly failure?: Failure | undefined;
  /** The flags that do it again alone. */
  readonly repeat: string;
  readonly tookMs: number;
};

/** What came of a run. */
export type Report = {
  readonly url: string;
  /** The version that the vendor says it has. */
  readonly version: string;
  readonly seed: number;
  readonly startedAt: string;
  readonly tookMs: number;
  readonly results: readonly Result[];
  /** What the kit made and could not remove. */
  readonly left: readonly string[];
  readonly isInterrupted: boolean;
};

const trailLength = 12;

/** The exchanges of a check, and the one that shows its fault. */
type Shown = {
  readonly target: Target;
  readonly trail: readonly Exchange[];
  readonly shown?: Exchange | undefined;
};

/** The result of a requirement, with what is said of all of them. */
export function resultOf(
  id: RequirementId,
  outcome: Outcome,
  more: Pick<Result, 'because' | 'failure'> & { readonly seed: number; readonly tookMs: number },
): Result {
  const { seed, tookMs, because, failure } = more;
  const { level, text } = requirements[id];
  return { id, level, text, outcome, because, failure, repeat: `--only ${id} --seed ${seed}`, tookMs };
}

/** What a check that did not pass comes to: its own result, and that of the requirement that it found broken. */
export function toResults(
  id: RequirementId,
  error: unknown,
  { target, trail, ...more }: Shown & { readonly seed: number; readonly tookMs: number },
): readonly Result[] {
  const { message } = error instanceof Error ? error : { message: String(error) };
  if (isFinding(error) && error.kind === 'skip') return [resultOf(id, 'SKIP', { ...more, because: message })];
  const { of = id, exchange: shown } = isFinding(error) ? error : {};
  const failure = failureOf(message, { target, trail, shown });
  return [...new Set([id, of])].map(one =>
    resultOf(one, requirements[one].level === 'MUST' ? 'FAIL' : 'WARN', { ...more, failure }),
  );
}

/** What shows a fault, from the exchanges of its check. */
function failureOf(
  expected: string,
  {
    target,
    trail,
    shown = trail.at(-1),
  }: { target: Target; trail: readonly Exchange[]; shown?: Exchange | undefined },
): Failure {
  return {
    expected,
    exchange: shown && withoutCredentials(shown),
    curl: shown && toCurl(target, shown.request),
    trail: trail.slice(-trailLength).map(withoutCredentials),
  };
}

/** How many results have each outcome. */
export function countOutcomes(results: readonly Result[]): Readonly<Record<Outcome, number>> {
  const counts = { PASS: 0, FAIL: 0, WARN: 0, SKIP: 0 };
  for (const { outcome } of results) counts[outcome]++;
  return counts;
}

function withoutCredentials(made: Exchange): Exchange {
  const { answer, request } = made;
  const { authorization, ...headers } = request.headers;
  if (authorization === undefined) return made;
  return {
    ...made,
    request: { ...request, headers: { authorization: 'Bearer …', ...headers } },
    ...(answer && { answer: withoutToken(answer, authorization.replace(/^Bearer /, '')) }),
  };
}

/** A vendor that is wrong may repeat the token. */
function withoutToken(answer: Incoming, token: string): Incoming {
  if (token.length < leastTokenLength) return answer;
  return JSON.parse(JSON.stringify(answer).replaceAll(token, '…')) as Incoming;
}
