import type { Problem } from '../../src/api/problem.ts';
import { type CurrentRequest, unwantedProblem } from './request.ts';

/** Who waits for an operation that has not begun. */
export type Askers = {
  /** One more waits for the same; undefined is the gateway itself. */
  join(request: CurrentRequest | undefined): void;
  /** Why nobody does any more. */
  unwanted(): Problem | undefined;
};

/** So many are remembered, the last: a caller asks again and again while it waits. */
const most = 4;

/** Makes what knows who waits. What the gateway itself wants is always wanted. */
export function createAskers(first: CurrentRequest | undefined): Askers {
  let isOurs = first === undefined;
  let askers = first ? [first] : [];
  return {
    join(request) {
      if (request) askers = [...askers.filter(one => !unwantedProblem(one)).slice(1 - most), request];
      else isOurs = true;
    },
    unwanted() {
      if (isOurs) return undefined;
      const problems = askers.map(unwantedProblem);
      return problems.every(problem => problem !== undefined) ? problems[0] : undefined;
    },
  };
}
