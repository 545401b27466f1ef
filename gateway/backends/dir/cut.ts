import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../../src/api/problem.ts';
import type { Draft, Drafts } from './drafts.ts';
import { lookAt, type Item } from './paths.ts';
import { copySubvolume, createSubvolume, hasInnerSubvolumes, isSubvolume, treeName } from './subvolumes.ts';
import { survey, type Survey } from './survey.ts';
import { copyTree } from './tree.ts';
import { isMountedForWriting, requireNothingInside } from './use.ts';

/** A tree to copy. */
export type Cut = {
  readonly source: Item;
  /** The directory to copy: the volume's own, or the one in a snapshot. */
  readonly tree: string;
  readonly target: Item;
  /** Some node may write to the source now. */
  readonly attachedForWriting: boolean;
  /** The copy is never written: it is a snapshot. */
  readonly readonly: boolean;
  /** Called once with what the copy holds, before it counts; what it throws ends the work. */
  readonly takeRoom: (heldBytes: number) => Promise<void>;
};

/** Where copies are made. */
export type CutPlace = { readonly drafts: Drafts; readonly subvolumes: boolean };

/** Copies that are whole and durable but do not have their names yet, and when they were cut. */
export type CutDrafts = { readonly drafts: readonly Draft[]; readonly cutAtMs: number };

type Planned = Cut & {
  readonly isLive: boolean;
  readonly atOnce: boolean;
  readonly before: Survey | undefined;
};

/** Longer than the steps of the time that a filesystem gives to changes, in milliseconds. */
const timeStepMs = 20;

/**
 * Copies all trees as they are at one point in time, or none. A tree that is written meanwhile can only be copied as a
 * subvolume, and only one such: two would be cut one after the other. All others are not to change meanwhile, which is
 * checked. FAILED_PRECONDITION, with the reason, for anything else. What it leaves then is for the next try.
 */
export async function cutTogether(cuts: readonly Cut[], place: CutPlace): Promise<CutDrafts> {
  const planned: Planned[] = [];
  for (const cut of cuts) planned.push(await plan(cut, cuts.length > 1));
  const live = planned.filter(({ isLive }) => isLive);
  requireOneInstant(live);
  await sleep(timeStepMs);
  const drafts = new Map<Planned, Draft>();
  const cutAtMs = Date.now();
  for (const cut of [...live, ...planned.filter(({ isLive }) => !isLive)]) {
    await place.drafts.removeFor(cut.target);
    const draft = await place.drafts.create(cut.target);
    drafts.set(cut, draft);
    await copy(cut, join(draft.path, treeName), place);
  }
  for (const cut of planned) await requireUntouched(cut);
  return { drafts: planned.flatMap(cut => drafts.get(cut) ?? []), cutAtMs };
}

async function plan(cut: Cut, isOneOfMany: boolean): Promise<Planned> {
  const { source, tree, attachedForWriting } = cut;
  if (!(await lookAt(source))) throw new Problem('NOT_FOUND', `the directory of ${source.what} is not there`);
  await requireNothingInside(source);
  const isLive = attachedForWriting || (await isMountedForWriting(source));
  const atOnce = (await isSubvolume(tree)) && !(await hasInnerSubvolumes(tree));
  const isChecked = !isLive && (!atOnce || isOneOfMany);
  return { ...cut, isLive, atOnce, before: isChecked ? await survey(tree) : undefined };
}

function requireOneInstant(live: readonly Planned[]): void {
  const [first, second] = live;
  if (first && second)
    throw new Problem(
      'FAILED_PRECONDITION',
      `${first.source.what} and ${second.source.what} are both attached for writing and would be cut one after the other; detach all but one`,
    );
  if (first && !first.atOnce)
    throw new Problem(
      'FAILED_PRECONDITION',
      `${first.source.what} is attached for writing, and its directory cannot be copied at one instant; detach it first`,
    );
}

async function copy(
  { tree, atOnce, before, readonly, takeRoom }: Planned,
  target: string,
  { subvolumes }: CutPlace,
) {
  if (atOnce) {
    await copySubvolume(tree, target, { readonly });
    await takeRoom((await survey(target)).heldBytes);
    return;
  }
  const { heldBytes } = before ?? (await survey(tree));
  await takeRoom(heldBytes);
  if (subvolumes) await createSubvolume(target);
  await copyTree(tree, target, heldBytes);
}

async function requireUntouched({ source, tree, before, isLive, atOnce }: Planned): Promise<void> {
  if (atOnce && (await hasInnerSubvolumes(tree)))
    throw new Problem('UNAVAILABLE', `a subvolume was made in ${source.what} while it was cut`);
  if (isLive) return;
  const isSame = before === undefined || before.digest === (await survey(tree)).digest;
  if (isSame && !(before && (await isMountedForWriting(source)))) return;
  throw new Problem('FAILED_PRECONDITION', `${source.what} was attached or written while it was copied`);
}
