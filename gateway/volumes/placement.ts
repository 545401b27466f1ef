import type { TopologyRequirement } from '../../src/api/storage.ts';
import { invalidProblem } from '../../src/api/problem.ts';
import { meetsTerm, formatSegments, withoutEmpty, type Segments } from '../../src/api/topology.ts';
import { sameJson } from '../../src/lib/json.ts';
import { segmentsText } from '../tables/table.ts';

/** Where something must be reached from, in terms that all say something; no `requisite` terms: from anywhere. */
export type Requirement = {
  readonly requisite: readonly Segments[];
  readonly preferred: readonly Segments[];
};

/** What is reached from anywhere meets it. */
export const anywhere: Requirement = { requisite: [], preferred: [] };

/** What is asked, without empty values and terms. INVALID_ARGUMENT when what is preferred is not requisite. */
export function readRequirement(asked?: TopologyRequirement): Requirement {
  return finish(requirementSteps(asked));
}

/** The same as steps, of which each looks at one term: there may be thousands. */
export function* requirementSteps({ requisite = [], preferred = [] }: TopologyRequirement = {}): Generator<
  void,
  Requirement
> {
  const asked = { requisite: yield* speaking(requisite), preferred: yield* speaking(preferred) };
  const known = new Set<string>();
  for (const term of asked.requisite) {
    yield;
    known.add(segmentsText(term));
  }
  for (const term of asked.preferred) {
    yield;
    if (known.size > 0 && !known.has(segmentsText(term)))
      throw invalidProblem(
        `body.topology.preferred: "${formatSegments(term)}" is none of the requisite terms`,
      );
  }
  return asked;
}

/** True when what is in the topology meets the requirement; without a topology it is reached from everywhere. */
export function meets(segments: Segments | undefined, { requisite }: Requirement): boolean {
  return (
    segments === undefined || requisite.length === 0 || requisite.some(term => meetsTerm(segments, term))
  );
}

/**
 * The topologies that meet the requirement, best first: those of the preferred terms in their order, then the others of
 * the requisite terms in theirs, or without such terms all others in the storage's own order.
 */
export function chooseTopologies(topologies: readonly Segments[], asked: Requirement): readonly Segments[] {
  return finish(choiceSteps(topologies, asked));
}

/** The same as steps, of which each looks at one term. */
export function* choiceSteps(
  topologies: readonly Segments[],
  { requisite, preferred }: Requirement,
): Generator<void, readonly Segments[]> {
  const chosen = new Set<Segments>();
  for (const term of [...preferred, ...requisite]) {
    yield;
    for (const segments of topologies) if (meetsTerm(segments, term)) chosen.add(segments);
  }
  return requisite.length === 0 ? [...chosen.union(new Set(topologies))] : [...chosen];
}

/** True when it is one of the topologies. */
export function isOneOf(segments: Segments, topologies: readonly Segments[]): boolean {
  return topologies.some(other => sameJson(segments, other));
}

function* speaking(terms: readonly Segments[]): Generator<void, readonly Segments[]> {
  const some: Segments[] = [];
  for (const term of terms.values().map(withoutEmpty)) {
    yield;
    if (Object.keys(term).length > 0) some.push(term);
  }
  return some;
}

function finish<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}
