import { toPrintable } from '../../api/http/printable.ts';
import { text } from '../../lib/parsers.ts';
import { connectionSettings, gatewayCommand } from '../connection.ts';
import { kinds } from '../kinds/index.ts';
import { clusterOf, ownerSettings } from '../cluster-settings.ts';
import { outputFormats, toOutput } from '../output/formats.ts';
import { explain } from './explain/advice.ts';
import type { Advice } from './explain/facts.ts';
import { gather } from './explain/gather.ts';

const settings = {
  id: { doc: 'the id of a volume or a snapshot, such as east.pvc-1', parse: text },
  ...ownerSettings,
  output: outputFormats('text', 'json', 'yaml'),
  ...connectionSettings,
} as const;

const command = {
  settings,
  operands: ['id'],
  exits: { 2: 'the volume or snapshot waits for something, or does not exist' },
};

/** Explains why a volume or a snapshot is not ready. */
export const explainCommand = gatewayCommand(command, async (connection, values) => {
  const { id = values.id } = kinds.volumes.ask(values.id, clusterOf(values));
  const facts = await gather(connection, id);
  const advice = explain(facts);
  const { out } = connection.io;
  if (values.output === 'text') out(advice.map(toText).join(''));
  else out(await toOutput({ id: facts.id, advice }, values.output));
  return advice.some(({ isWaiting }) => isWaiting) ? 2 : 0;
});

function toText({ what, todo }: Advice): string {
  return `${toPrintable(what, Infinity)}\n${todo === undefined ? '' : `    ${todo}\n`}`;
}
