import { problemsOf, problemSchema, type NamedOperation } from '../../../api/operations.ts';
import { problemTable, type ProblemCode } from '../../../api/problem.ts';
import type { z } from 'zod';
import type { Exchange, Incoming } from './exchange.ts';
import { fault } from '../finding.ts';
import type { RequirementId } from '../requirements.ts';

/** What an answer is held against: the operation, the ids of the path, and the name in the request's body. */
export type Asked = {
  readonly operation: NamedOperation;
  readonly ids: Readonly<Record<string, string>>;
  readonly name?: string | undefined;
};

/** An answer that is one of those that the operation documents. */
type Judged = { readonly code: ProblemCode | undefined; readonly body: unknown };

/** Holds an answer against the rules for all answers; a breach is a fault of that rule, whichever check asked. */
export function judge(asked: Asked, answer: Incoming, shown: Exchange): Judged {
  const breach = (of: RequirementId, found: string): never => {
    throw fault(`${asked.operation.id}: ${found}`, { of, exchange: shown });
  };
  const { status, body, text } = answer;
  if (status >= 300 || status < 200) return judgeProblem(asked, answer, breach);
  const schema = asked.operation.answers[status as 200];
  if (schema === undefined) return breach('FL-1.1-2', `a status that it documents, not ${status}`);
  if (schema === null || (status === 202 && text === '')) {
    if (text !== '') breach('FL-1.1-1', `no body with status ${status}`);
    return { code: undefined, body: undefined };
  }
  if (!isType(answer, 'json')) breach('FL-1.1-1', 'the content type application/json');
  const { success, data, error } = schema.safeParse(body);
  if (!success) return breach('FL-1.1-1', `an answer of the schema; found: ${describe(error)}`);
  requireAsked(asked, data as object, found => breach('FL-1.1-3', found));
  return { code: undefined, body: data };
}

/** A feature that is not offered is UNIMPLEMENTED, also where a gateway offers it always. */
function judgeProblem(
  { operation }: Asked,
  answer: Incoming,
  breach: (of: RequirementId, found: string) => never,
): Judged {
  const { data } = problemSchema.safeParse(answer.body);
  const code = data?.code;
  if (!code || !isType(answer, 'problem+json'))
    return breach('FL-1.2-1', `a problem document with a known code, not status ${answer.status}`);
  if (problemTable[code].http !== answer.status)
    breach('FL-1.2-1', `status ${problemTable[code].http} with ${code}, not ${answer.status}`);
  const isOptional = operation.vendor !== 'required' && code === 'UNIMPLEMENTED';
  if (!isOptional && problemTable[code].final && !problemsOf(operation).includes(code))
    breach('FL-1.2-6', `a code that it documents, not ${code}`);
  return { code, body: data };
}

/** All that is wrong with a value, as `path: what`. */
function describe({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${path.join('.') || 'the whole'}: ${message}`).join('; ');
}

function isType({ headers }: Incoming, type: 'json' | 'problem+json'): boolean {
  return String(headers['content-type']).split(';')[0]?.trim().toLowerCase() === `application/${type}`;
}

function requireAsked({ ids, name }: Asked, body: object, breach: (found: string) => never): void {
  const found = body as Readonly<Record<string, unknown>>;
  for (const [key, value] of Object.entries(ids)) {
    const member = key in found ? key : 'id';
    if (member in found && found[member] !== value)
      breach(`"${member}" is "${value}", not ${JSON.stringify(found[member])}`);
  }
  if (name !== undefined && 'name' in found && found['name'] !== name)
    breach(`"name" is "${name}", not ${JSON.stringify(found['name'])}`);
}
