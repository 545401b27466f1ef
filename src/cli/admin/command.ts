import type { StorageClient } from '../../api/client.ts';
import type { Call } from '../../api/http.ts';
import { choice } from '../../lib/parsers.ts';
import type { SettingsOf } from '../../lib/settings.ts';
import { connectionSettings, gatewayCommand } from '../connection.ts';

/** A switch. */
export const yesOrNo = choice('true', 'false');

/** How every admin command reaches the gateway, and what it prints. */
export const shared = {
  ...connectionSettings,
  timeout: { ...connectionSettings.timeout, default: '10m' },
  json: { doc: 'prints JSON in place of a table', parse: yesOrNo, default: 'false', isSwitch: true },
} as const;

/** What is printed, as JSON or as a table (or one sentence), and the exit status: 2 when something is left that should not be. */
type Result = { readonly data: unknown; readonly table: string; readonly status?: number };

type Admin<T extends typeof shared> = {
  readonly doc: string;
  readonly settings: T;
  /** The settings that may stand without their flags, in this order. */
  readonly operands?: readonly string[];
  readonly ask: (client: StorageClient, call: Call, settings: SettingsOf<T>) => Promise<Result>;
};

/** A command that asks the gateway once, and prints what it answers. */
export function command<T extends typeof shared>({ ask, ...more }: Admin<T>) {
  return gatewayCommand<T>(more, async ({ client, call, io }, values) => {
    const { json }: SettingsOf<typeof shared> = values;
    const { data, table, status = 0 } = await ask(client, call(), values);
    io.out(`${json === 'true' ? JSON.stringify(data, null, 2) : table}\n`);
    return status;
  });
}
