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

/** What is asked, without empty values and terms. INVALID_ARGUMENT when what is preferred is not requisite. */
export function readRequirement({ requisite = [], preferred = [] }: TopologyRequirement = {}): Requirement {
  const asked = { requisite: speaking(requisite), preferred: speaking(preferred) };
  const known = new Set(asked.requisite.map(segmentsText));
  const stray = asked.preferred.find(term => !known.has(segmentsText(term)));
  if (stray && known.size > 0)
    throw invalidProblem(
      `body.topology.preferred: "${formatSegments(stray)}" is none of the requisite terms`,
    );
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
  const inOrder = [...asked.preferred, ...asked.requisite].flatMap(term =>
    topologies.filter(segments => meetsTerm(segments, term)),
  );
  return [...new Set(asked.requisite.length === 0 ? [...inOrder, ...topologies] : inOrder)];
}

/** True when it is one of the topologies. */
export function isOneOf(segments: Segments, topologies: readonly Segments[]): boolean {
  return topologies.some(other => sameJson(segments, other));
}

function speaking(terms: readonly Segments[]): readonly Segments[] {
  return terms.map(withoutEmpty).filter(term => Object.keys(term).length > 0);
}
