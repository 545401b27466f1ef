import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../src/api/problem.ts';
import type { Backend } from '../../gateway/backend.ts';
import type { Step } from '../../gateway/operations/operation.ts';
import { createDice, type Dice, type Timed } from './faulty-backend/dice.ts';
import type { Fault, Rule, Target } from './faulty-backend/rules.ts';
import { wrapBackend, type Around, type Called } from './faulty-backend/wrap.ts';

/** What goes wrong, by which random numbers, and where it is told. */
export type FaultOptions = {
  readonly rules: readonly Rule[];
  readonly seed: number;
  readonly journal?: string | undefined;
};

/** Lays faults around a backend. It offers what the backend offers. */
export function layFaults<T extends Backend>(inner: T, { rules, seed, journal }: FaultOptions): T {
  const wrapped = wrapBackend(inner, createFaults(createDice(rules, seed), createJournal(journal)));
  return { ...wrapped, name: `faulty(${inner.name})` } satisfies Backend as T;
}

/** For an operation's checkpoint: kills this process, as `kill -9` would, at the steps that the rules name. */
export function crashAtSteps({ rules, seed }: FaultOptions): (step: Step) => void {
  const dice = createDice(rules, seed);
  return ({ point, kind, operation }) => {
    if (dice.diesAt(targetOf(kind, operation), point)) process.kill(process.pid, 'SIGKILL');
  };
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
      journal(called, { fault: end?.fault, done: true });
      if (end?.fault === 'wrong-size') return tellWrongSize(value);
      if (end) throw endOf(end.fault, called);
      return value;
    },
    async *stream(called, run) {
      const end = await enter(called, dice.fateOf(called.target), journal);
      let left = end?.fault === 'partial-page' ? 1 : Number.POSITIVE_INFINITY;
      for await (const entry of run()) {
        if (left-- <= 0) return;
        yield entry;
      }
      if (end && end.fault !== 'partial-page') throw endOf(end.fault, called);
    },
  };
}

const before: ReadonlySet<Fault['fault']> = new Set(['fail', 'locked', 'busy']);

/** What comes before the storage is asked; what is left is for after it has answered. */
async function enter(called: Called, fate: readonly Timed[], journal: Journal): Promise<Fault | undefined> {
  for (const { delayMs } of fate) if (delayMs > 0) await sleep(delayMs);
  const end = fate.find(({ fault }) => fault.fault !== 'latency')?.fault;
  if (end?.fault !== 'hang' && !(end && before.has(end.fault))) return end;
  journal(called, { fault: end.fault, done: false });
  if (end.fault === 'hang') await new Promise<never>(() => undefined);
  throw endOf(end.fault, called);
}

function endOf(kind: Fault['fault'], { target, id }: Called): Error {
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
