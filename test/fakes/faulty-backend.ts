import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../src/api/problem.ts';
import type { Backend } from '../../gateway/backend.ts';
import type { Step } from '../../gateway/operations/operation.ts';
import { createDice, type Dice } from './faulty-backend/dice.ts';
import type { Fault, Rule, Target } from './faulty-backend/rules.ts';
import { wrapBackend, type CallWrapper, type BackendCall } from './faulty-backend/wrap.ts';

/** The rules of the faults, the seed of their random numbers, and the journal of calls. */
export type FaultOptions = {
  readonly rules: readonly Rule[];
  readonly seed: number;
  readonly journal?: string | undefined;
};

/** Adds faults to a backend and keeps its set of members. */
export function layFaults<T extends Backend>(inner: T, { rules, seed, journal }: FaultOptions): T {
  const wrapped = wrapBackend(inner, createFaults(createDice(rules, seed), createJournal(journal)));
  return { ...wrapped, name: `faulty(${inner.name})` } satisfies Backend as T;
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
