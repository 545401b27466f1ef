import { setImmediate } from 'node:timers/promises';
import type * as FastCheck from 'fast-check';
import { pause } from '../../lib/concurrency.ts';
import { expect, fault, isFinding } from '../finding.ts';
import { holdTogether } from '../fixtures/barrier.ts';
import type { Kit } from '../fixtures/kit.ts';
import { lateMs } from './late.ts';
import { createPlayer, names, type Player } from '../model/player.ts';
import { pairsFor, type Pair } from '../model/pairs.ts';
import { emptyWorld, outcomesOf, worldsAfter } from '../model/world.ts';
import type { Call, Observation, World } from '../model/world.ts';
import { countTime, must, type Chapter } from '../requirement.ts';

type FC = typeof FastCheck;

/** Time limit for the sequences and for shrinking a faulty one, in milliseconds. */
const shrinkMs = 15_000;

/** Time between the two requests of a pair when it is played again, in milliseconds. */
const turnMs = 3;

/** The requirements of chapter 8, section 4. */
export const order = {
  'FL-8.4-1': must(
    'Any sequence of calls leads to the state that these rules describe, with answers that they allow.',
  ).check(async kit => {
    const fc = await import('fast-check');
    const commands = fc.commands(
      [fc.tuple(callsOf(fc, kit), fc.boolean()).map(([call, isLost]) => commandOf(call, isLost))],
      { maxCommands: kit.isThorough ? 40 : 15, size: 'max' },
    );
    const ends: { readonly player: Player; readonly world: World }[] = [];
    const property = fc.asyncProperty(commands, async list => {
      const player = await createPlayer(kit);
      const model = { world: emptyWorld };
      await fc.asyncModelRun(() => ({ model, real: player }), list);
      const difference = await player.differenceTo(model.world);
      expect(difference === undefined, `the state that the calls lead to; but ${difference}`);
      ends.push({ player, world: model.world });
    });
    await play(fc, kit, property);
    await pause(lateMs, kit.signal);
    for (const { player, world } of ends) {
      const difference = await player.differenceTo(world);
      if (difference !== undefined)
        throw fault(`the state stays as the calls left it; but later ${difference}`, {
          requirement: 'FL-8.4-3',
        });
    }
  }),
  'FL-8.4-2': must('Any concurrent calls lead to a state that one of their possible orders leads to.').check(
    async kit => {
      await playPairs(kit);
      const fc = await import('fast-check');
      const calls = callsOf(fc, kit);
      const before = fc.array(calls, { maxLength: 3 });
      const atOnce = fc.array(calls, { minLength: 2, maxLength: 4 });
      const property = fc.asyncProperty(fc.scheduler(), before, atOnce, async (scheduler, first, list) => {
        const player = await createPlayer(kit);
        const model = { world: emptyWorld };
        for (const call of first) await commandOf(call, false).run(model, player);
        const playing = list.map(async call => {
          await scheduler.schedule(Promise.resolve(), textOf(call));
          return player.play(call);
        });
        await expectExplained(player, model.world, await scheduler.waitFor(Promise.all(playing)));
      });
      await play(fc, kit, property);
    },
  ),
} satisfies Chapter;

type Model = { world: World };

/** Makes one step of a sequence. It requires an answer that the rules allow, and moves the model to the world after it. */
function commandOf(call: Call, isLost: boolean): FastCheck.AsyncCommand<Model, Player> {
  return {
    check: () => true,
    async run(model, player) {
      const { code } = await player.play(call, { isLost });
      // The vendor has handled the call with the lost answer before this one.
      const worlds = isLost ? outcomesOf(model.world, call).map(({ world }) => world) : [model.world];
      const allowed = worlds.flatMap(world => outcomesOf(world, call));
      const found = allowed.find(outcome => outcome.code === code);
      const codes = [...new Set(allowed.map(outcome => outcome.code ?? 'success'))].join(' or ');
      expect(found, `${textOf(call)} answers ${codes}, not ${code ?? 'success'}`);
      model.world = found.world;
    },
    toString: () => `${isLost ? 'lost and repeated: ' : ''}${textOf(call)}`,
  };
}

/**
 * Plays each pair in both orders, with one request right after the other. Plays each once more, with a moment between the
 * requests, in the first third of the check's time.
 */
async function playPairs(kit: Kit): Promise<void> {
  const isLate = countTime(kit);
  const all = pairsFor(kit).flatMap(({ before, atOnce }) => [
    { before, atOnce },
    { before, atOnce: atOnce.toReversed() },
  ]);
  for (const pair of all) await playPair(kit, pair, () => setImmediate());
  for (const pair of all) {
    if (isLate()) return;
    await playPair(kit, pair, () => pause(turnMs, kit.signal));
  }
}

/** Plays the calls of a pair at the same time, after those before. Each call waits for one `turn` more than the one before it. */
async function playPair(kit: Kit, { before, atOnce }: Pair, turn: () => Promise<unknown>): Promise<void> {
  const player = await createPlayer(kit);
  const model = { world: emptyWorld };
  for (const call of before) await commandOf(call, false).run(model, player);
  // Both requests go to the vendor within a moment, over open connections, and mostly in this order.
  const { until } = holdTogether(atOnce.length);
  const playing = atOnce.map(async (call, index) => {
    const inTurn = async (): Promise<void> => {
      await until();
      for (let turns = index; turns > 0; turns--) await turn();
    };
    return player.play(call, { until: inTurn });
  });
  await expectExplained(player, model.world, await Promise.all(playing));
}

/** Throws a fault unless some order of the calls leads to their answers and to the vendor's state. */
async function expectExplained(
  player: Player,
  before: World,
  observed: readonly Observation[],
): Promise<void> {
  const worlds = worldsAfter(before, observed);
  const answers = observed.map(({ call, code = 'success' }) => `${textOf(call)}: ${code}`).join(', ');
  expect(worlds.length > 0, `answers that some order of the calls explains, not: ${answers}`);
  await expectOneOf(player, worlds, answers);
}

async function expectOneOf(player: Player, worlds: readonly World[], answers: string): Promise<void> {
  const differences = [];
  for (const world of worlds) {
    const difference = await player.differenceTo(world);
    if (difference === undefined) return;
    differences.push(difference);
  }
  throw fault(`a state that some order of the calls leads to (${answers}); but ${differences[0]}`);
}

function callsOf(fc: FC, kit: Kit): FastCheck.Arbitrary<Call> {
  const volume = fc.constantFrom(...names.volumes);
  // The model has one holder of each volume.
  const node = fc.constantFrom(...names.nodes.slice(0, kit.isExclusive() ? undefined : 1));
  const snapshot = fc.constantFrom(...names.snapshots);
  const units = fc.integer({ min: 1, max: 3 });
  const kind = <K extends Call['kind']>(one: K): FastCheck.Arbitrary<K> => fc.constant(one);
  return fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: kind('create'), volume, units }) },
    { weight: 2, arbitrary: fc.record({ kind: kind('attach'), volume, node }) },
    fc.record({ kind: kind('detach'), volume, node }),
    fc.record({ kind: kind('delete'), volume }),
    fc.record({ kind: kind('read'), volume }),
    ...(kit.has('expand') ? [fc.record({ kind: kind('expand'), volume, units })] : []),
    ...(kit.has('snapshots')
      ? [
          fc.record({ kind: kind('snapshot'), volume, snapshot }),
          fc.record({ kind: kind('unsnapshot'), snapshot }),
        ]
      : []),
    ...(kit.has('restore') ? [fc.record({ kind: kind('restore'), volume, snapshot })] : []),
  );
}

/** Plays random sequences of calls. A fault shows the shortest faulty sequence that was found in time. */
async function play<T>(fc: FC, kit: Kit, property: FastCheck.IAsyncProperty<T>): Promise<void> {
  const result = await fc.check(property, {
    seed: kit.random.below(2 ** 31),
    numRuns: kit.isThorough ? 30 : 4,
    interruptAfterTimeLimit: kit.isThorough ? 20 * shrinkMs : shrinkMs,
    endOnFailure: false,
  });
  kit.signal.throwIfAborted();
  if (!result.failed || result.counterexample === null) return;
  const { errorInstance: error, counterexample } = result;
  if (isFinding(error) && error.kind !== 'fault') throw error;
  const message = error instanceof Error ? error.message : String(error);
  const { exchange, requirement } = isFinding(error) ? error : {};
  throw fault(`${message}; after: ${fc.stringify(counterexample)}`, { exchange, requirement });
}

function textOf({ kind, ...rest }: Call): string {
  return [kind, ...Object.values(rest)].join(' ');
}
