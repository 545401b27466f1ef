import type { Problem } from '../../src/api/problem.ts';
import { type CurrentRequest, findGoneProblem } from './current-request.ts';

export type Waiters = {
  /** Adds a caller that waits for the same operation; undefined is the gateway itself. */
  join(request: CurrentRequest | undefined): void;
  /** Returns the reason why no caller waits any more, if that is so. */
  goneProblem(): Problem | undefined;
};

/** The number of requests to remember. Only the last ones count, because a waiting caller repeats its request. */
const maxRequests = 4;

/** Creates the waiters of an operation. One that the gateway itself began always goes on. */
export function createWaiters(first: CurrentRequest | undefined): Waiters {
  let isOurs = first === undefined;
  let requests = first ? [first] : [];
  return {
    join(request) {
      if (request)
        requests = [...requests.filter(one => !findGoneProblem(one)).slice(1 - maxRequests), request];
      else isOurs = true;
    },
    goneProblem() {
      if (isOurs) return undefined;
      const problems = requests.map(findGoneProblem);
      return problems.every(problem => problem !== undefined) ? problems[0] : undefined;
    },
  };
}
