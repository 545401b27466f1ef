import { problemsOf, problemSchema, type NamedOperation } from '../../api/operations.ts';
import { problemTable, type ProblemCode } from '../../api/problem.ts';
import type { z } from 'zod';
import type { Exchange, RawAnswer } from './exchange.ts';
import { fault } from '../finding.ts';
import type { RequirementId } from '../sections.ts';

/** The parts of a request that its answer must repeat, and its operation. */
type RequestFacts = {
  readonly operation: NamedOperation;
  readonly ids: Readonly<Record<string, string>>;
  readonly name?: string | undefined;
};

/** The content of an answer that keeps the rules. */
type ValidAnswer = { readonly code: ProblemCode | undefined; readonly body: unknown };

/** Checks an answer by the rules for all answers. A breach is a fault of the broken rule, and of the check that found it. */
export function judge(request: RequestFacts, answer: RawAnswer, exchange: Exchange): ValidAnswer {
  const breach = (requirement: RequirementId, expected: string): never => {
    throw fault(`${request.operation.id}: ${expected}`, { requirement, exchange });
  };
  const { status, body, text } = answer;
  if (status >= 300 || status < 200) return judgeProblem(request, answer, breach);
  const schema = request.operation.answers[status as 200];
  if (schema === undefined) return breach('FL-1.1-2', `a documented status, not ${status}`);
  if (schema === null || (status === 202 && text === '')) {
    if (text !== '') breach('FL-1.1-1', `no body with status ${status}`);
    return { code: undefined, body: undefined };
  }
  if (!isType(answer, 'json')) breach('FL-1.1-1', 'the content type application/json');
  const { success, data, error } = schema.safeParse(body);
  if (!success) return breach('FL-1.1-1', `an answer that matches the schema; ${describe(error)}`);
  requireSameNames(request, data as object, expected => breach('FL-1.1-3', expected));
  return { code: undefined, body: data };
}

/** Checks a problem. UNIMPLEMENTED is always allowed for operations of optional features. */
function judgeProblem(
  { operation }: RequestFacts,
  answer: RawAnswer,
  breach: (requirement: RequirementId, expected: string) => never,
): ValidAnswer {
  const { data } = problemSchema.safeParse(answer.body);
  const code = data?.code;
  if (!code || !isType(answer, 'problem+json'))
    return breach('FL-1.2-1', `a problem document with a known code, not status ${answer.status}`);
  if (problemTable[code].http !== answer.status)
    breach('FL-1.2-1', `status ${problemTable[code].http} with ${code}, not ${answer.status}`);
  const isOptional = operation.vendor !== 'required' && code === 'UNIMPLEMENTED';
  if (!isOptional && problemTable[code].final && !problemsOf(operation).includes(code))
    breach('FL-1.2-6', `a documented code, not ${code}`);
  return { code, body: data };
}

/** Describes all faults of a value, each as `at PATH: FAULT`. */
function describe({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `at ${path.join('.') || 'the top'}: ${message}`).join('; ');
}

function isType({ headers }: RawAnswer, type: 'json' | 'problem+json'): boolean {
  return String(headers['content-type']).split(';')[0]?.trim().toLowerCase() === `application/${type}`;
}

function requireSameNames(
  { ids, name }: RequestFacts,
  body: object,
  breach: (expected: string) => never,
): void {
  const found = body as Readonly<Record<string, unknown>>;
  for (const [key, value] of Object.entries(ids)) {
    const member = key in found ? key : 'id';
    if (member in found && found[member] !== value)
      breach(`"${member}" is "${value}", not ${JSON.stringify(found[member])}`);
  }
  if (name !== undefined && 'name' in found && found['name'] !== name)
    breach(`"name" is "${name}", not ${JSON.stringify(found['name'])}`);
}
