import { durationMs } from '../../src/lib/parsers.ts';
import type { SettingsSource, SettingsTable } from '../../src/lib/settings.ts';
import { gatewaySettings, readGatewayConfig, type GatewayConfig } from '../config.ts';

const own = {
  'stuck-after': { doc: 'work that is not done after this is stuck', parse: durationMs, default: '10m' },
  'safety-age': {
    doc: 'how long an audit must have known of what nobody else knows before a repair removes it',
    parse: durationMs,
    default: '1h',
  },
  'clusters-file': { doc: 'not needed here', parse: String, default: '' },
} as const satisfies SettingsTable;

const switches = ['repair', 'dry-run', 'yes', 'json'] as const;

type Switch = (typeof switches)[number];

/** Settings of the gateway that say nothing about its store and its storage: taken, so that one environment serves both. */
const ignored = new Set([
  'listen',
  'clusters-file',
  'audience',
  'tls-cert-file',
  'tls-key-file',
  'public-docs',
  'keep-deleted',
]);

/** The settings that `fairlead admin` looks at. */
export const adminSettings: SettingsTable = {
  ...Object.fromEntries(Object.entries(gatewaySettings).filter(([name]) => !ignored.has(name))),
  'stuck-after': own['stuck-after'],
  'safety-age': own['safety-age'],
};

/** What is to be done, on what a gateway with these settings works with. */
export type AdminConfig = {
  readonly command: 'audit' | 'restore';
  /** What to restore. */
  readonly id: string;
  readonly gateway: GatewayConfig;
  readonly stuckAfterMs: number;
  readonly safetyAgeMs: number;
  readonly has: (name: Switch) => boolean;
};

/** The config, or every fault together. */
export function readAdminConfig({
  argv,
  env,
}: SettingsSource):
  | { readonly config: AdminConfig; readonly faults?: never }
  | { readonly config?: never; readonly faults: readonly string[] } {
  const [command = '', ...rest] = argv;
  if (command.startsWith('-')) return { faults: [`unknown flag ${command}`] };
  if (command !== 'audit' && command !== 'restore')
    return { faults: [`unknown command "${command}"; there are audit, restore`] };
  const [id = '', ...flags] = command === 'restore' ? rest : ['', ...rest];
  if (command === 'restore' && (id === '' || id.startsWith('-')))
    return { faults: ['restore needs the id of a volume'] };
  const given = new Set(flags.filter(isSwitch).map(flag => flag.slice(2)));
  const source = { argv: flags.filter(flag => !isSwitch(flag)), env };
  const { config: gateway, faults } = readGatewayConfig(source, own);
  if (faults) return { faults };
  const wrong = findWrong(command, given, gateway);
  if (wrong.length > 0) return { faults: wrong };
  const values = gateway.backend.values as Readonly<Record<keyof typeof own, number>>;
  return {
    config: {
      command,
      id,
      gateway,
      has: name => given.has(name),
      stuckAfterMs: values['stuck-after'],
      safetyAgeMs: values['safety-age'],
    },
  };
}

function isSwitch(flag: string): boolean {
  return switches.some(name => flag === `--${name}`);
}

function findWrong(
  command: AdminConfig['command'],
  given: ReadonlySet<string>,
  { backend: { name } }: GatewayConfig,
): readonly string[] {
  const faults: string[] = [];
  if (command === 'restore' && given.size > 0) return [`restore knows no --${[...given].join(', --')}`];
  if (given.has('yes') && !given.has('repair')) faults.push('--yes is for --repair');
  if (given.has('yes') && given.has('dry-run')) faults.push('--yes and --dry-run exclude each other');
  if (command === 'audit' && name === 'memory')
    faults.push('--backend: what is in memory only the gateway itself can see');
  return faults;
}
