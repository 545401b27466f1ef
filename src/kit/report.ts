import { fault, isFinding, type Finding } from './finding.ts';
import { minTokenLength } from './http/credentials.ts';
import { toCurl, type Exchange, type RawAnswer, type Target } from './http/exchange.ts';
import { requirementOf } from './requirements.ts';
import { chapters, sectionOf, type RequirementId } from './sections.ts';

/** The outcome of a check. FAIL is a MUST that does not hold, WARN a SHOULD that does not hold or a MUST that could not be proved. */
export type Outcome = 'PASS' | 'FAIL' | 'WARN' | 'SKIP';

/** The evidence that a requirement does not hold. It never contains credentials. */
export type Failure = {
  readonly expected: string;
  readonly exchange?: Exchange | undefined;
  /** The request as a curl command, with the credentials in a variable. */
  readonly curl?: string | undefined;
  /** The check's last exchanges. */
  readonly trail: readonly Exchange[];
};

export type Result = {
  readonly id: RequirementId;
  readonly level: 'MUST' | 'SHOULD';
  readonly text: string;
  readonly outcome: Outcome;
  /** The reason for a SKIP, or for a WARN without a failure. */
  readonly because?: string | undefined;
  readonly failure?: Failure | undefined;
  /** The flags that run this check alone, with the same choices. */
  readonly repeat: string;
  readonly tookMs: number;
};

export type Report = {
  readonly url: string;
  /** The version in the vendor's capabilities. */
  readonly version: string;
  readonly seed: number;
  readonly startedAt: string;
  readonly tookMs: number;
  readonly results: readonly Result[];
  /** Ids of resources that the kit made and could not remove. */
  readonly left: readonly string[];
  readonly isInterrupted: boolean;
};

const trailLength = 12;

/** The seed of a check's choices, and its duration. */
type CheckRun = { readonly seed: number; readonly tookMs: number };

/** Makes the result of a requirement, with the parts that all results have. */
export function resultOf(
  id: RequirementId,
  outcome: Outcome,
  more: CheckRun & Pick<Result, 'because' | 'failure'>,
): Result {
  const { seed, tookMs, because, failure } = more;
  const { level, text } = requirementOf(id);
  return { id, level, text, outcome, because, failure, repeat: `--only ${id} --seed ${seed}`, tookMs };
}

/** The state of a requirement in a run: its check has passed or failed, comes later, or is not a part of the run. */
export type Standing = 'passed' | 'failed' | 'pending' | 'unselected';

/**
 * Makes the results of a check that did not pass. A fault counts once. A breach of a rule that has its own check counts there,
 * unless that check has passed or is not a part of the run: then only this one sees the fault.
 */
export function toResults(
  id: RequirementId,
  error: unknown,
  {
    target,
    trail,
    standingOf = () => 'pending',
    ...more
  }: CheckRun & {
    readonly target: Target;
    readonly trail: readonly Exchange[];
    readonly standingOf?: (requirement: RequirementId) => Standing;
  },
): readonly Result[] {
  const finding = toFinding(error);
  const { kind, message, requirement = id } = finding;
  if (kind === 'skip') return [resultOf(id, 'SKIP', { ...more, because: message })];
  if (kind === 'unproved') return [resultOf(id, 'WARN', { ...more, because: message })];
  const standing = requirement === id ? 'unselected' : standingOf(requirement);
  const because = `the check stopped at a fault of ${requirement}: ${message}`;
  const skipped = resultOf(id, 'SKIP', { ...more, because });
  if (standing === 'failed') return [skipped];
  const broken = standing === 'pending' ? requirement : id;
  const expected = broken === requirement ? message : `${message} (${requirement})`;
  // Without an exchange of its own the check's last one shows the fault.
  const { exchange = trail.at(-1) } = finding;
  const failure: Failure = {
    expected,
    ...(exchange && { exchange: withoutCredentials(exchange), curl: toCurl(target, exchange.request) }),
    trail: trail.slice(-trailLength).map(withoutCredentials),
  };
  const outcome = requirementOf(broken).level === 'MUST' ? 'FAIL' : 'WARN';
  const result = resultOf(broken, outcome, { ...more, failure });
  return broken === id ? [result] : [result, skipped];
}

/** Makes a fault of an error that a check did not expect. */
function toFinding(error: unknown): Finding {
  if (isFinding(error)) return error;
  return fault(error instanceof Error ? error.message : String(error));
}

export function countOutcomes(results: readonly Result[]): Readonly<Record<Outcome, number>> {
  const counts = { PASS: 0, FAIL: 0, WARN: 0, SKIP: 0 };
  for (const { outcome } of results) counts[outcome]++;
  return counts;
}

/** Returns the numbered title of each chapter, and its results. */
export function byChapter(results: readonly Result[]): readonly (readonly [string, readonly Result[]])[] {
  return Object.entries(chapters).map(([number, title]) => [
    `${number} ${title}`,
    results.filter(({ id }) => sectionOf(id).startsWith(`${number}.`)),
  ]);
}

function withoutCredentials(exchange: Exchange): Exchange {
  const { answer, request } = exchange;
  const { authorization, ...headers } = request.headers;
  if (authorization === undefined) return exchange;
  return {
    ...exchange,
    request: { ...request, headers: { authorization: 'Bearer …', ...headers } },
    ...(answer && { answer: withoutToken(answer, authorization.replace(/^Bearer /, '')) }),
  };
}

/** Removes the token from an answer: a faulty vendor may repeat it. */
function withoutToken(answer: RawAnswer, token: string): RawAnswer {
  if (token.length < minTokenLength) return answer;
  return JSON.parse(JSON.stringify(answer).replaceAll(token, '…')) as RawAnswer;
}
