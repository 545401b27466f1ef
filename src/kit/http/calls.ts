import type { Input, OperationId, Operations, Output } from '../../api/operations.ts';
import type { ProblemCode } from '../../api/problem.ts';
import type { Capabilities, Feature } from '../../api/storage.ts';
import { pause } from '../../lib/concurrency.ts';
import type { DriverVolume } from '../existing.ts';
import { judge } from './answers.ts';
import { requireConsistent } from './contradiction.ts';
import type { Credentials } from './credentials.ts';
import type { AnyInput, Exchange, Target } from './exchange.ts';
import { fault, skip } from '../finding.ts';
import type { Ledger } from './ledger.ts';
import type { NetworkFault } from './proxy.ts';
import type { Random } from '../random.ts';
import { createWire, idsOf, operationOf, type CallOptions, type Wire } from './wire.ts';

/** The options that hold for a whole run. */
export type KitOptions = {
  readonly target: Target;
  readonly credentials: Credentials;
  /** The prefix of every id that the kit makes. */
  readonly prefix: string;
  /** Time limit for one operation, from the first request until it is done, in milliseconds. */
  readonly timeoutMs: number;
  readonly isThorough: boolean;
  /** True when checks may write and read bytes of attached volumes. */
  readonly hasData: boolean;
  /** The sockets of the node plugins of drivers on this machine, by the names of the drivers. */
  readonly csiDrivers?: Readonly<Record<string, string>>;
  /** True when the server holds volumes or snapshots that this run did not create. */
  readonly hasForeign: boolean;
  readonly parameters: Readonly<Record<string, string>>;
  /** Mutable parameters, each with its possible values. */
  readonly mutable: Readonly<Record<string, readonly string[]>>;
  /** Restarts the vendor; undefined if the user has given no way to do so. */
  readonly restart: (() => Promise<void>) | undefined;
  /** Makes a volume with the CSI driver whose volumes the vendor imports; undefined if the user has given no way to do so. */
  readonly createExisting: (() => Promise<DriverVolume>) | undefined;
  /** True to try every call, even one of an operation that hangs: the clean-up must not give up. */
  readonly isPatient?: boolean;
};

/** The answer of an operation: a body that matches its schema, or the code of a problem. */
export type Answer<Id extends OperationId = OperationId> = {
  readonly status: number;
  readonly code: ProblemCode | undefined;
  readonly body: Output<Operations[Id]>;
  readonly exchange: Exchange;
  /** True if an earlier request of the call was answered with 202, so that the call may have acted twice. */
  readonly isRepeated?: boolean;
};

export type InputOf<Id extends OperationId> = Input<Operations[Id]>;
type SettleOptions = CallOptions & { readonly final?: readonly ProblemCode[] };

/** The calls of one check to the vendor, and their options. */
export interface Calls extends KitOptions, Pick<Wire, 'send' | 'toRawRequest' | 'call'> {
  readonly capabilities: Capabilities;
  readonly random: Random;
  readonly ledger: Ledger;
  readonly signal: AbortSignal;
  /** All exchanges of the check, in the order of their ends. */
  readonly trail: readonly Exchange[];
  /** The part after the prefix in the ids of this run. */
  readonly run: string;
  id(): string;
  has(feature: Feature | 'nodes'): boolean;
  /** Sends one request. Throws a fault when the operation does not document such an answer. */
  ask<Id extends OperationId>(id: Id, input: InputOf<Id>, more?: CallOptions): Promise<Answer<Id>>;
  /** Repeats the request until the answer is other than 202, ABORTED and UNAVAILABLE, or has a code of `final`. */
  settle<Id extends OperationId>(id: Id, input: InputOf<Id>, more?: SettleOptions): Promise<Answer<Id>>;
  /** Repeats the request until the operation has succeeded, and returns its result. Throws a fault for a problem. */
  done<Id extends OperationId>(
    id: Id,
    input: InputOf<Id>,
    more?: CallOptions,
  ): Promise<Output<Operations[Id]>>;
  /** Repeats the request until it is refused with one of these codes. Throws a fault for any other end. */
  refused<Id extends OperationId>(
    id: Id,
    input: InputOf<Id>,
    codes: readonly ProblemCode[],
  ): Promise<Answer<Id>>;
  /** Sends a request and loses its answer. */
  lose<Id extends OperationId>(id: Id, input: InputOf<Id>, network: NetworkFault): Promise<void>;
}

export type CheckOptions = KitOptions &
  Pick<Calls, 'capabilities' | 'random' | 'ledger' | 'signal' | 'run' | 'id'>;

const firstPauseMs = 20;
const maxPauseMs = 1_000;

export function createCalls(options: CheckOptions): Calls {
  const trail: Exchange[] = [];
  const { features } = options.capabilities;
  const wire = createWire({ ...options, trail });
  const hangs = hangsOf(options);
  const settle = createSettle(options, { ask, hangs });

  async function ask(id: OperationId, input: AnyInput, callOptions: CallOptions = {}): Promise<Answer> {
    const limitMs = hangs.timeFor(id);
    const exchange = await wire.call(id, input, { ...callOptions, limitMs });
    const { answer } = exchange;
    if (exchange.isGivenUp && exchange.tookMs >= limitMs) hangs.note(id);
    if (!answer) throw fault(`${id}: an answer, not ${exchange.error}`, { exchange });
    const { name } = Object(input['body']) as { readonly name?: string };
    const request = { operation: operationOf(id), ids: idsOf(id, input), name };
    const { code, body } = judge(request, answer, exchange);
    requireConsistent(trail, exchange);
    return { status: answer.status, code, body: body as Answer['body'], exchange };
  }

  async function done(id: OperationId, input: AnyInput, callOptions: CallOptions = {}): Promise<unknown> {
    const { code, body, exchange } = await settle(id, input, callOptions);
    if (!code) return body;
    throw fault(`${id} succeeds, not ${code}`, { exchange });
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

  const has = (feature: Feature | 'nodes'): boolean => (features as readonly string[]).includes(feature);
  // The functions treat all operations alike; the types of the interface tell them apart.
  return { ...options, ...wire, trail, has, ask, settle, done, refused } as unknown as Calls;
}

/** The operations that exceeded their time in the run on one server. They bound the time of a run on a server that hangs. */
type Hangs = {
  /**
   * Returns the time for the operation in milliseconds: a tenth once it has exceeded its time. Skips the check when the
   * operation has exceeded its time twice without an end in between.
   */
  timeFor(id: OperationId): number;
  note(id: OperationId): void;
  /** Notes that the operation has ended in time. */
  clear(id: OperationId): void;
};

const maxHangs = 2;
const counts = new WeakMap<Target, Map<OperationId, { total: number; inRow: number }>>();

function hangsOf({ target, timeoutMs, isPatient = false }: CheckOptions): Hangs {
  const known = counts.getOrInsertComputed(target, () => new Map());
  const of = (id: OperationId) => known.getOrInsertComputed(id, () => ({ total: 0, inRow: 0 }));
  return {
    timeFor(id) {
      const { total, inRow } = of(id);
      if (inRow >= maxHangs && !isPatient)
        throw skip(`${id} exceeded its time ${maxHangs} times in a row in earlier checks`);
      return total === 0 ? timeoutMs : timeoutMs / 10;
    },
    note(id) {
      const { total, inRow } = of(id);
      known.set(id, { total: total + 1, inRow: inRow + 1 });
    },
    clear: id => void (of(id).inRow = 0),
  };
}

function createSettle(
  { signal }: CheckOptions,
  {
    ask,
    hangs,
  }: {
    readonly ask: (id: OperationId, input: AnyInput, callOptions: CallOptions) => Promise<Answer>;
    readonly hangs: Hangs;
  },
) {
  return async (
    id: OperationId,
    input: AnyInput,
    { final = [], ...callOptions }: SettleOptions = {},
  ): Promise<Answer> => {
    const deadlineMs = performance.now() + hangs.timeFor(id);
    let isRepeated = false;
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
      const answer = await ask(id, input, callOptions);
      const { code } = answer;
      const isOpen = answer.status === 202 || code === 'ABORTED' || code === 'UNAVAILABLE';
      if (!isOpen || (code && final.includes(code))) {
        hangs.clear(id);
        return { ...answer, isRepeated };
      }
      if (performance.now() > deadlineMs) {
        hangs.note(id);
        const expected = `${id} ends in time, not with ${code ?? 'status 202'} to every request`;
        throw fault(expected, { exchange: answer.exchange, requirement: 'FL-1.3-1' });
      }
      isRepeated ||= answer.status === 202;
      const retryAfterMs = Number(answer.exchange.answer?.headers['retry-after']) * 1_000 || 0;
      await pause(Math.max(pauseMs, Math.min(retryAfterMs, maxPauseMs)), signal);
    }
  };
}
