import type { TopologyRequirement } from '../../src/api/storage.ts';
import { invalidProblem } from '../../src/api/problem.ts';
import { meetsTerm, formatSegments, withoutEmpty, type Segments } from '../../src/api/topology.ts';
import { sameJson } from '../../src/lib/json.ts';
import { segmentsText } from '../tables/table.ts';

/** The terms of reachability, none of them empty. Without `requisite` terms, any topology is allowed. */
export type Requirement = {
  readonly requisite: readonly Segments[];
  readonly preferred: readonly Segments[];
};

export const anywhere: Requirement = { requisite: [], preferred: [] };

/** Reads the request without empty values and terms. INVALID_ARGUMENT when a preferred term is not requisite. */
export function readRequirement(request?: TopologyRequirement): Requirement {
  return finish(requirementSteps(request));
}

/** Reads the request as `readRequirement` does, in steps of one term each, because there may be thousands. */
export function* requirementSteps({ requisite = [], preferred = [] }: TopologyRequirement = {}): Generator<
  void,
  Requirement
> {
  const request = { requisite: yield* nonEmpty(requisite), preferred: yield* nonEmpty(preferred) };
  const known = new Set<string>();
  for (const term of request.requisite) {
    yield;
    known.add(segmentsText(term));
  }
  for (const term of request.preferred) {
    yield;
    if (known.size > 0 && !known.has(segmentsText(term)))
      throw invalidProblem(
        `body.topology.preferred: "${formatSegments(term)}" is not one of the requisite terms`,
      );
  }
  return request;
}

/**
 * Returns true when a volume in the topology meets the requirement. A volume without a topology can be
 * reached from everywhere.
 */
export function meets(segments: Segments | undefined, { requisite }: Requirement): boolean {
  return (
    segments === undefined || requisite.length === 0 || requisite.some(term => meetsTerm(segments, term))
  );
}

/**
 * Chooses the topologies that meet the requirement, best first: the preferred terms come first in their order, then the other requisite terms in their order, or without such terms all others in the storage's
 * order.
 */
export function chooseTopologies(topologies: readonly Segments[], request: Requirement): readonly Segments[] {
  return finish(choiceSteps(topologies, request));
}

/** Chooses as `chooseTopologies` does, in steps of one term each. */
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

export function isOneOf(segments: Segments, topologies: readonly Segments[]): boolean {
  return topologies.some(other => sameJson(segments, other));
}

function* nonEmpty(terms: readonly Segments[]): Generator<void, readonly Segments[]> {
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
