import type { StorageClient } from '../../api/client.ts';
import type { Call } from '../../api/http.ts';
import { Problem, type ProblemCode } from '../../api/problem.ts';

/**
 * The output, `data` as JSON or `table` as text, a warning for standard error, and the exit status: 2 when problems
 * remain.
 */
export type ActionResult = {
  readonly data: unknown;
  readonly table: string;
  readonly warning?: string | undefined;
  readonly status?: number;
};

/** An action of operators. A dry one only describes the effect in words. */
export type Action<V extends object> = (
  client: StorageClient,
  call: Call,
  values: V & { readonly isDry: boolean },
) => Promise<ActionResult>;

/** Makes a handler of errors that adds the operator's next step to problems with this code and such a detail. */
export function withStep(code: ProblemCode, step: string, detail = /^/): (error: unknown) => never {
  return error => {
    throw error instanceof Problem && error.code === code && detail.test(error.detail)
      ? new Problem(code, `${error.detail}; ${step}`, error)
      : error;
  };
}
