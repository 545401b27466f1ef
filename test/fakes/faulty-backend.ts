import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../src/api/problem.ts';
import type { Backend } from '../../gateway/backend.ts';
import type { Step } from '../../gateway/operations/operation.ts';
import { createDice, type Dice } from './faulty-backend/dice.ts';
import { changing, type Fault, type Rule, type Target } from './faulty-backend/rules.ts';
import { wrapBackend, type CallWrapper, type BackendCall } from './faulty-backend/wrap.ts';

/** The rules of the faults, the seed of their random numbers, and the journal of calls. */
export type FaultOptions = {
  readonly rules: readonly Rule[];
  readonly seed: number;
  readonly journal?: string | undefined;
};

export type Method = (typeof changing)[number];

/** The moment of a failure: before the storage changes, or afterwards, when the answer is lost. */
type Moment = 'before' | 'after';

/** A backend that fails by rules, and fails, waits and counts as a test wants. */
export type FaultyBackend<T extends Backend = Backend> = T & {
  /** All changes since the start, as `method id`. */
  readonly calls: string[];
  /** Makes the next call of the method throw this error; repeated calls add up. */
  failNext(method: Method, moment: Moment, error: unknown): void;
  /** Makes calls of the method wait, before the storage changes, until the returned function is called. */
  hold(method: Method): () => void;
  /** Resolves once the method is called while held. */
  entered(method: Method): Promise<void>;
};

/** Adds faults to a backend and keeps its members. */
export function createFaultyBackend<T extends Backend>(
  inner: T,
  { rules, seed, journal }: FaultOptions = { rules: [], seed: 1 },
): FaultyBackend<T> {
  const faults = createFaults(createDice(rules, seed), createJournal(journal));
  const calls: string[] = [];
  const next: { method: Method; moment: Moment; error: unknown }[] = [];
  const held = new Map<Target, { readonly gate: Promise<void>; readonly enter: () => void }>();
  const entries = new Map<Method, Promise<void>>();

  function takeFault(target: Target, moment: Moment): void {
    const index = next.findIndex(fault => fault.method === target && fault.moment === moment);
    if (index >= 0) throw next.splice(index, 1)[0]?.error;
  }

  async function call<R>(called: BackendCall, run: () => Promise<R>): Promise<R> {
    const { target, id } = called;
    if ((changing as readonly Target[]).includes(target)) calls.push(`${target} ${id}`);
    const hold = held.get(target);
    hold?.enter();
    await hold?.gate;
    takeFault(target, 'before');
    const value = await faults.call(called, run);
    takeFault(target, 'after');
    return value;
  }

  return {
    ...wrapBackend(inner, { ...faults, call }),
    calls,
    failNext: (method, moment, error) => void next.push({ method, moment, error }),
    hold(method) {
      const gate = Promise.withResolvers<void>();
      const entry = Promise.withResolvers<void>();
      held.set(method, { gate: gate.promise, enter: entry.resolve });
      entries.set(method, entry.promise);
      return () => {
        held.delete(method);
        gate.resolve();
      };
    },
    entered: async method => entries.get(method),
  };
}

/** Makes an operation's checkpoint that kills this process, as `kill -9` would, at the steps that the rules name. */
export function crashAtSteps({ rules, seed }: FaultOptions): (step: Step) => void {
  const dice = createDice(rules, seed);
  return ({ point, kind, operation }) => {
    const fallen = dice(targetOf(kind, operation), rule => rule.fault === 'crash' && rule.point === point);
    if (fallen.length > 0) process.kill(process.pid, 'SIGKILL');
  };
}

/** Maps a task of the gateway to the method that a rule names for it. */
function targetOf(kind: string, operation: string): Target {
  if (kind === 'volume') return operation as Target;
  return (operation === 'delete' ? `${kind}-delete` : kind) as Target;
}

type Journal = (
  called: BackendCall,
  entry: { readonly fault: string | undefined; readonly done: boolean },
) => void;

/** Creates a journal. `done` is written after the storage has done its work and before it answers. */
function createJournal(path: string | undefined): Journal {
  if (path === undefined) return () => undefined;
  return ({ target, id }, { fault, done }) =>
    appendFileSync(
      path,
      `${JSON.stringify({ at: new Date().toISOString(), method: target, id, done, fault })}\n`,
    );
}

function createFaults(dice: Dice, journal: Journal): CallWrapper {
  return {
    async call(called, run) {
      const end = await enter(called, dice, journal);
      const value = await run();
      journal(called, { fault: end, done: true });
      if (end === 'wrong-size') return halveSize(value);
      if (end) throw endOf(end, called);
      return value;
    },
    async *stream(called, run) {
      const end = await enter(called, dice, journal);
      let left = end === 'partial-page' ? 1 : Number.POSITIVE_INFINITY;
      for await (const entry of run()) {
        if (left-- <= 0) return;
        yield entry;
      }
      if (end && end !== 'partial-page') throw endOf(end, called);
    },
  };
}

/** Runs before the storage is called; returns the fault to inject after its answer. */
async function enter(called: BackendCall, dice: Dice, journal: Journal): Promise<Fault['fault'] | undefined> {
  const fallen = dice(called.target, ({ fault }) => fault !== 'crash');
  for (const { rule, random } of fallen)
    if (rule.fault === 'latency') await sleep(rule.minMs + random() * (rule.maxMs - rule.minMs));
  const end = fallen.find(({ rule }) => rule.fault !== 'latency')?.rule.fault;
  if (end === undefined || !['hang', 'fail', 'locked', 'busy'].includes(end)) return end;
  journal(called, { fault: end, done: false });
  if (end === 'hang') await new Promise<never>(() => undefined);
  throw endOf(end, called);
}

function endOf(kind: Fault['fault'], { target, id }: BackendCall): Error {
  const what = id === '' ? target : `${target} of "${id}"`;
  if (kind === 'locked') return new Problem('ABORTED', `${what}: the storage has it locked (injected)`);
  if (kind === 'busy')
    return new Problem('UNAVAILABLE', `${what}: the storage asks for fewer calls (injected)`);
  // A broken connection throws an error that is no Problem.
  if (kind === 'lost-answer') return new Error(`${what}: the answer was lost (injected)`);
  return new Problem('UNAVAILABLE', `${what}: the storage failed (injected)`);
}

function halveSize<T>(value: T): T {
  const { sizeBytes } = value as { readonly sizeBytes: number };
  return { ...value, sizeBytes: Math.floor(sizeBytes / 2) };
}
