import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../src/api/problem.ts';
import { absolutePath, integer, text } from '../../src/lib/parsers.ts';
import type { Backend, BackendPlugin } from '../backend.ts';
import { createDice, type Dice, type Timed } from './faulty/dice.ts';
import type { Target } from './faulty/methods.ts';
import { parseRules, type Fault, type Rule } from './faulty/rules.ts';
import { wrapBackend, type Around, type Called } from './faulty/wrap.ts';

const settings = {
  'faulty-backend': { doc: 'the backend that it is laid around, with its own settings', parse: text },
  'faulty-rules': {
    doc: 'what goes wrong and when, such as "create 10% lost-answer; all every 50 latency 1s..5s"',
    parse: parseRules,
  },
  'faulty-seed': {
    doc: 'the same number gives the same faults to the same calls',
    parse: integer(0, 2 ** 32 - 1),
    default: '1',
  },
  'faulty-journal': {
    doc: 'file to which one line of JSON is added for each call that could change something',
    parse: absolutePath,
    optional: true,
  },
} as const;

/** Another backend that goes wrong as it is told, to find out beforehand what that does to the clusters. */
export const faulty: BackendPlugin<typeof settings> = {
  settings,
  wraps: 'faulty-backend',
  async open(values, inner) {
    if (!inner) throw new Error('the backend "faulty" needs another one to be laid around');
    return layFaults(inner, {
      rules: values['faulty-rules'],
      seed: values['faulty-seed'],
      journal: values['faulty-journal'],
    });
  },
};

/** What goes wrong, by which random numbers, and where it is told. */
export type FaultOptions = {
  readonly rules: readonly Rule[];
  readonly seed: number;
  readonly journal?: string | undefined;
};

/** Lays faults around a backend. It offers what the backend offers. */
export function layFaults<T extends Backend>(inner: T, { rules, seed, journal }: FaultOptions): T {
  const dice = createDice(rules, seed);
  const crashes = rules.some(({ fault }) => fault.kind === 'crash');
  const wrapped = wrapBackend(inner, createFaults(dice, createJournal(journal)));
  return {
    ...wrapped,
    name: `faulty(${inner.name})`,
    ...(crashes && {
      checkpoint: ({ point, kind, operation }) => {
        if (dice.diesAt(targetOf(kind, operation), point)) process.kill(process.pid, 'SIGKILL');
      },
    }),
  } satisfies Backend as T;
}

/** The method that a rule names for a work of the gateway. */
function targetOf(kind: string, operation: string): Target {
  if (kind === 'volume') return operation as Target;
  return (operation === 'delete' ? `${kind}-delete` : kind) as Target;
}

type Journal = (
  called: Called,
  entry: { readonly fault: string | undefined; readonly done: boolean },
) => void;

/** `done` is written after the storage has done its work and before anybody is told. */
function createJournal(path: string | undefined): Journal {
  if (path === undefined) return () => undefined;
  return ({ target, id }, { fault, done }) =>
    appendFileSync(
      path,
      `${JSON.stringify({ at: new Date().toISOString(), method: target, id, done, fault })}\n`,
    );
}

function createFaults(dice: Dice, journal: Journal): Around {
  return {
    async call(called, run) {
      const end = await enter(called, dice.fateOf(called.target), journal);
      const value = await run();
      journal(called, { fault: end?.kind, done: true });
      if (end?.kind === 'wrong-size') return tellWrongSize(value);
      if (end) throw endOf(end.kind, called);
      return value;
    },
    async *stream(called, run) {
      const end = await enter(called, dice.fateOf(called.target), journal);
      let left = end?.kind === 'partial-page' ? 1 : Number.POSITIVE_INFINITY;
      for await (const entry of run()) {
        if (left-- <= 0) return;
        yield entry;
      }
      if (end && end.kind !== 'partial-page') throw endOf(end.kind, called);
    },
  };
}

const before: ReadonlySet<Fault['kind']> = new Set(['fail', 'locked', 'busy']);

/** What comes before the storage is asked; what is left is for after it has answered. */
async function enter(called: Called, fate: readonly Timed[], journal: Journal): Promise<Fault | undefined> {
  for (const { delayMs } of fate) if (delayMs > 0) await sleep(delayMs);
  const end = fate.find(({ fault }) => fault.kind !== 'latency')?.fault;
  if (end?.kind !== 'hang' && !(end && before.has(end.kind))) return end;
  journal(called, { fault: end.kind, done: false });
  if (end.kind === 'hang') await new Promise<never>(() => undefined);
  throw endOf(end.kind, called);
}

function endOf(kind: Fault['kind'], { target, id }: Called): Error {
  const what = id === '' ? target : `${target} of "${id}"`;
  if (kind === 'locked') return new Problem('ABORTED', `${what}: the storage has it locked (injected)`);
  if (kind === 'busy')
    return new Problem('UNAVAILABLE', `${what}: the storage asks for fewer calls (injected)`);
  // What a connection throws that breaks off: nobody has named it.
  if (kind === 'lost-answer') return new Error(`${what}: the answer was lost (injected)`);
  return new Problem('UNAVAILABLE', `${what}: the storage failed (injected)`);
}

function tellWrongSize<T>(value: T): T {
  const { sizeBytes } = value as { readonly sizeBytes: number };
  return { ...value, sizeBytes: Math.floor(sizeBytes / 2) };
}
