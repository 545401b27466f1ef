import type { Input, OperationId, Operations, Output } from '../../../api/operations.ts';
import type { ProblemCode } from '../../../api/problem.ts';
import type { Capabilities, Feature } from '../../../api/storage.ts';
import { pause } from '../../../lib/concurrency.ts';
import { judge } from '../http/answers.ts';
import type { Credentials } from '../http/credentials.ts';
import type { Exchange, Target } from '../http/exchange.ts';
import { fault, type Finding } from '../finding.ts';
import type { Ledger } from './ledger.ts';
import type { NetworkFault } from '../http/proxy.ts';
import type { Random } from './random.ts';
import { createWire, idsOf, operationOf, type AnyInput, type How, type Wire } from '../http/wire.ts';

/** How the whole run is made. */
export type KitOptions = {
  readonly target: Target;
  readonly credentials: Credentials;
  /** What every id that the kit makes begins with. */
  readonly prefix: string;
  /** How long one operation may take until it is done, in milliseconds. */
  readonly timeoutMs: number;
  readonly isThorough: boolean;
  /** Bytes are written and read where an attach protocol works on this machine. */
  readonly hasData: boolean;
  /** The server holds volumes that are not the kit's. */
  readonly hasForeign: boolean;
  readonly parameters: Readonly<Record<string, string>>;
  /** Mutable parameters, each with values that it may have. */
  readonly mutable: Readonly<Record<string, readonly string[]>>;
  /** Restarts the vendor; undefined where it is not known how. */
  readonly restart: (() => Promise<void>) | undefined;
};

/** An answer of an operation: the body of its schema, or the code of its problem. */
export type Answer<Id extends OperationId = OperationId> = {
  readonly status: number;
  readonly code: ProblemCode | undefined;
  readonly body: Output<Operations[Id]>;
  readonly exchange: Exchange;
};

/** One call of an operation, whatever its answer. */
type Ask<Result extends Readonly<Record<OperationId, unknown>>, More = unknown> = <Id extends OperationId>(
  id: Id,
  input: Input<Operations[Id]>,
  more?: More,
) => Promise<Result[Id]>;
type Answers = { readonly [Id in OperationId]: Answer<Id> };
type Outputs = { readonly [Id in OperationId]: Output<Operations[Id]> };

/** What a check works with. It is made anew for each check. */
export interface Kit extends KitOptions, Pick<Wire, 'send' | 'toOutgoing' | 'call'> {
  readonly capabilities: Capabilities;
  readonly random: Random;
  readonly ledger: Ledger;
  readonly signal: AbortSignal;
  /** All exchanges of the check, in the order in which they ended. */
  readonly trail: readonly Exchange[];
  /** What stands behind the prefix in the ids of this run. */
  readonly run: string;
  /** An id that was never used. */
  id(): string;
  has(feature: Feature | 'nodes'): boolean;
  /** One request; its answer is one that the operation documents. */
  readonly ask: Ask<Answers, How>;
  /** The request until its answer is not 202, ABORTED or UNAVAILABLE, but for codes that are named as final. */
  readonly settle: Ask<Answers, How & { readonly final?: readonly ProblemCode[] }>;
  /** What the operation answers once it is done; a problem is a fault. */
  readonly done: Ask<Outputs, How>;
  /** The answer of an operation that ends in a problem with one of these codes; anything else is a fault. */
  readonly refused: Ask<Answers, readonly ProblemCode[]>;
  /** Sends a request whose answer is lost. */
  lose<Id extends OperationId>(id: Id, input: Input<Operations[Id]>, network: NetworkFault): Promise<void>;
}

/** What is made once for a run, or for a check. */
type OfCheck = KitOptions & Pick<Kit, 'capabilities' | 'random' | 'ledger' | 'signal' | 'run' | 'id'>;

const firstPauseMs = 20;
const longestPauseMs = 1_000;

/** Makes what one check works with. */
export function createKit(options: OfCheck): Kit {
  const trail: Exchange[] = [];
  const { ledger, capabilities } = options;
  const wire = createWire({ ...options, trail });
  const settle = createSettle(options, ask);

  async function call(id: OperationId, input: AnyInput, how: How = {}): Promise<Exchange> {
    ledger.note(id, input);
    return wire.call(id, input, how);
  }

  async function ask(id: OperationId, input: AnyInput, how: How = {}): Promise<Answer> {
    const made = await call(id, input, how);
    const { answer } = made;
    if (!answer) throw fault(`${id}: an answer, not ${made.error}`, { exchange: made });
    const { name } = Object(input['body']) as { readonly name?: string };
    const asked = { operation: operationOf(id), ids: idsOf(id, input), name };
    const { code, body } = judge(asked, answer, made);
    return { status: answer.status, code, body: body as Answer['body'], exchange: made };
  }

  async function done(id: OperationId, input: AnyInput, how: How = {}): Promise<unknown> {
    const { code, body, exchange } = await settle(id, input, how);
    if (code) throw fault(`${id} succeeds, not ${code}`, { exchange });
    return body;
  }

  async function refused(
    id: OperationId,
    input: AnyInput,
    codes: readonly ProblemCode[] = [],
  ): Promise<Answer> {
    const answer = await settle(id, input, { final: codes });
    if (answer.code && codes.includes(answer.code)) return answer;
    const found = answer.code ?? `status ${answer.status}`;
    throw fault(`${id} answers ${codes.join(' or ')}, not ${found}`, { exchange: answer.exchange });
  }

  async function lose(id: OperationId, input: AnyInput, network: NetworkFault): Promise<void> {
    ledger.note(id, input);
    await wire.lose(id, input, network);
  }

  const has = (feature: Feature | 'nodes'): boolean =>
    (capabilities.features as readonly string[]).includes(feature);
  // All operations are asked alike; the types of each are those of its row.
  return { ...options, ...wire, trail, has, call, ask, settle, done, refused, lose } as unknown as Kit;
}

/** What hangs for ever is not waited for in each check: an operation that was late twice gets a tenth of the time. */
const lateness = new WeakMap<Target, Map<OperationId, number>>();

function createSettle(
  { target, timeoutMs, signal }: OfCheck,
  ask: (id: OperationId, input: AnyInput, how: How) => Promise<Answer>,
) {
  const late = lateness.getOrInsertComputed(target, () => new Map<OperationId, number>());
  return async (
    id: OperationId,
    input: AnyInput,
    { final = [], ...how }: How & { readonly final?: readonly ProblemCode[] } = {},
  ): Promise<Answer> => {
    const times = late.get(id) ?? 0;
    const deadlineMs = performance.now() + (times > 1 ? timeoutMs / 10 : timeoutMs);
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      const answer = await ask(id, input, how);
      const { code } = answer;
      const isOpen = answer.status === 202 || code === 'ABORTED' || code === 'UNAVAILABLE';
      if (!isOpen || (code && final.includes(code))) return answer;
      if (performance.now() > deadlineMs) {
        late.set(id, times + 1);
        throw lateFault(id, answer);
      }
      const retryAfterMs = Number(answer.exchange.answer?.headers['retry-after']) * 1_000 || 0;
      await pause(Math.max(pauseMs, Math.min(retryAfterMs, longestPauseMs)), signal);
    }
  };
}

function lateFault(id: OperationId, { code, exchange }: Answer): Finding {
  const found = code ?? 'status 202';
  return fault(`${id} ends in time, not ${found} again and again`, { exchange, of: 'FL-1.3-1' });
}
