import { text } from '../../../lib/parsers.ts';
import { onOrOff } from '../../../lib/settings.ts';
import { drain } from '../../actions/drain.ts';
import { command, dryRun, shared } from './command.ts';

/** The command that empties a pool. */
export const drainCommand = command({
  doc: 'stops the creation of volumes in a pool, and lists the remaining volumes and snapshots',
  exits: { 2: 'something is left in the pool' },
  settings: {
    ...shared,
    pool: { doc: 'the pool', parse: text },
    end: { doc: 'end the drain: the pool takes new volumes again', ...onOrOff },
    'dry-run': dryRun,
  },
  operands: ['pool'],
  ask: (client, call, { pool, end, 'dry-run': isDry }) => drain(client, call, { pool, end, isDry }),
});
