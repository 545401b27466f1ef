import type { StorageClient } from '../../../api/client.ts';
import type { Call } from '../../../api/http.ts';
import { Problem, type ProblemCode } from '../../../api/problem.ts';
import { onOrOff, type SettingsOf } from '../../../lib/settings.ts';
import { connectionSettings, gatewayCommand } from '../../connection.ts';
import { toJson } from '../../output/formats.ts';
import type { Runnable } from '../../run.ts';

/** The settings of every admin command. */
export const shared = {
  ...connectionSettings,
  timeout: { ...connectionSettings.timeout, default: '10m' },
  json: { doc: 'print JSON in place of a table', ...onOrOff },
} as const;

/** The setting of commands that can show their effect first. */
export const dryRun = {
  doc: 'list the changes that the command would make, and make none',
  ...onOrOff,
} as const;

/**
 * The output, `data` as JSON or `table` as text, a warning for standard error, and the exit status: 2 when problems
 * remain.
 */
type Result = {
  readonly data: unknown;
  readonly table: string;
  readonly warning?: string | undefined;
  readonly status?: number;
};

type AdminCommand<T extends typeof shared> = Pick<Runnable, 'exits' | 'operands'> & {
  readonly doc: string;
  readonly settings: T;
  readonly ask: (client: StorageClient, call: Call, settings: SettingsOf<T>) => Promise<Result>;
};

/** Makes a handler of errors that adds the operator's next step to problems with this code and such a detail. */
export function withStep(code: ProblemCode, step: string, detail = /^/): (error: unknown) => never {
  return error => {
    throw error instanceof Problem && error.code === code && detail.test(error.detail)
      ? new Problem(code, `${error.detail}; ${step}`, error)
      : error;
  };
}

/** The gateway's words for a missing volume. Pools, nodes and routes can be missing, too. */
const volumeMissing = /^there is no (soft-deleted )?volume "/;

/** Makes a command that calls the gateway with `ask` and prints the result. Its help begins with its own settings. */
export function command<T extends typeof shared>({ ask, settings, ...more }: AdminCommand<T>) {
  const all = Object.entries(settings);
  const inOrder = [...all.filter(([name]) => !(name in shared)), ...all.filter(([name]) => name in shared)];
  const ordered = { ...more, settings: Object.fromEntries(inOrder) as T };
  return gatewayCommand<T>(ordered, async ({ client, call, io }, values) => {
    const { json }: SettingsOf<typeof shared> = values;
    const {
      data,
      table,
      warning,
      status = 0,
    } = await ask(client, call(), values).catch(
      withStep('NOT_FOUND', 'list all with fairlead get volumes -A', volumeMissing),
    );
    io.out(`${json ? toJson(data) : table}\n`);
    if (warning !== undefined) io.err(`${warning}\n`);
    return status;
  });
}
