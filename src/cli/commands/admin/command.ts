import type { StorageClient } from '../../../api/client.ts';
import type { Call } from '../../../api/http.ts';
import { onOrOff, type SettingsOf } from '../../../lib/settings.ts';
import { withStep, type ActionResult } from '../../actions/action.ts';
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

type AdminCommand<T extends typeof shared> = Pick<Runnable, 'exits' | 'operands'> & {
  readonly doc: string;
  readonly settings: T;
  readonly ask: (client: StorageClient, call: Call, settings: SettingsOf<T>) => Promise<ActionResult>;
};

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
