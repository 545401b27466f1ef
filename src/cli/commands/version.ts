import { onOrOff, type SettingsOf } from '../../lib/settings.ts';
import { version } from '../../lib/version.ts';
import { connectionSettings, withConnection } from '../connection.ts';
import { outputFormats, toOutput } from '../output/formats.ts';
import { renderTable } from '../output/table.ts';
import type { Io } from '../run.ts';
import { contextFallback, contextSettings } from './contexts.ts';

const settings = {
  client: { doc: 'show only the version of this command line, without a call to the gateway', ...onOrOff },
  output: outputFormats('text', 'json', 'yaml'),
  ...connectionSettings,
  gateway: {
    ...contextSettings.gateway,
    doc: 'address of the gateway; without it, and without a context, only the client is shown',
  },
} as const;

type Values = SettingsOf<typeof settings>;

/** Shows the versions of the client and of the gateway. The client's version is shown even if the gateway fails. */
export const versionCommand = {
  settings,
  fallback: contextFallback,
  async run(values: Values, io: Io): Promise<number> {
    const { gateway, output, client: isClientOnly } = values;
    const isText = output === 'text';
    const show = (name: string, shown: string): void =>
      io.out(renderTable([], [[name, shown]], { hasHeads: false, widths: ['gateway'.length] }));
    if (isText) show('client', version);
    if (isClientOnly || gateway === undefined) {
      if (!isText) io.out(await toOutput({ client: version }, output));
      if (!isClientOnly)
        io.err(
          'no gateway is chosen; give --gateway, or create a context with fairlead config set-context\n',
        );
      return 0;
    }
    return withConnection({ ...values, gateway }, io, async ({ client, call }) => {
      const { version: served } = await client.getStatus({}, call());
      if (isText) show('gateway', `${served} at ${gateway}`);
      else io.out(await toOutput({ client: version, gateway: served }, output));
    });
  },
};
