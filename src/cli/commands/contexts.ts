import { reasonOf } from '../../lib/words/failures.ts';
import { readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseJson } from '../../lib/json.ts';
import { httpUrl, text, trueOrFalse } from '../../lib/parsers.ts';
import { allowHttpSetting, type SettingsOf, type Sources } from '../../lib/settings.ts';
import { suggest } from '../../lib/words/suggest.ts';
import { outputFormats, toOutput } from '../output/formats.ts';
import { renderTable } from '../output/table.ts';
import type { Commands, Io } from '../run.ts';

/** A context: settings by the names of their flags, as typed. It holds paths of files with secrets, never a secret. */
export type Context = Readonly<Partial<Record<keyof typeof contextSettings, string>>>;

type Contexts = { readonly current?: string; readonly contexts: Readonly<Record<string, Context>> };

const path = (value: string): string => resolve(text(value));

/** The settings that a context may have. */
export const contextSettings = {
  gateway: { doc: 'address of the gateway, such as https://storage.example', parse: httpUrl, optional: true },
  'allow-http': {
    doc: allowHttpSetting.doc,
    parse: trueOrFalse,
    optional: true,
    isSwitch: true,
  },
  'key-file': { doc: "file with an operator's private key (a JWK)", parse: path, optional: true },
  'token-file': { doc: 'file with a bearer token, in place of --key-file', parse: path, optional: true },
  'ca-file': {
    doc: "PEM file with the certificates that sign the gateway's certificate; default: the system's",
    parse: path,
    optional: true,
  },
  'tls-cert-file': {
    doc: 'PEM file with a client certificate, if the gateway requires one',
    parse: path,
    optional: true,
  },
  'tls-key-file': { doc: 'PEM file with the key of --tls-cert-file', parse: path, optional: true },
  audience: {
    doc: 'audience of the tokens, as set with --audience at the gateway',
    parse: text,
    optional: true,
  },
  cluster: {
    doc: 'cluster that commands use unless they get --cluster or --all-clusters',
    parse: text,
    optional: true,
  },
} as const;

/** Finds the file of contexts, below XDG_CONFIG_HOME or ~/.config. */
function contextsPath(env: NodeJS.ProcessEnv): string {
  const directory = env['XDG_CONFIG_HOME'] || join(env['HOME'] ?? homedir(), '.config');
  return join(directory, 'fairlead', 'contexts.json');
}

/**
 * Reads settings from the context of `--context`, or from the current one. A key or token file given as a flag or variable
 * replaces both of the context's, so that credentials never come from two places.
 */
export function contextFallback(env: NodeJS.ProcessEnv): NonNullable<Sources['fallback']> {
  return given => {
    const contexts = readContexts(env);
    const name = given('context') ?? contexts.current;
    if (name === undefined) return {};
    const { 'key-file': keyFile, 'token-file': tokenFile, ...rest } = requireContext(contexts, name);
    const hasCredentials = given('key-file') !== undefined || given('token-file') !== undefined;
    return hasCredentials ? rest : { ...rest, 'key-file': keyFile, 'token-file': tokenFile };
  };
}

const nameSetting = { doc: "the context's name", parse: text } as const;
const name = { settings: { name: nameSetting }, operands: ['name'] } as const;
const oneOfMany = { fallback: () => () => ({}) } as const;

/** The commands that change and show contexts. */
export const configCommands: Commands = {
  'set-context': {
    doc: 'creates a context, or changes the given settings of one; the first context becomes the current one',
    settings: { name: nameSetting, ...contextSettings },
    operands: ['name'],
    ...oneOfMany,
    run: (values: SettingsOf<typeof contextSettings> & { readonly name: string }, io: Io) =>
      change(io, contexts => {
        const given = Object.keys(contextSettings)
          .map(key => [key, values[key as keyof Context]] as const)
          .filter(([, value]) => value !== undefined)
          .map(([key, value]) => [key, String(value)] as const);
        const known = { ...contexts.contexts[values.name] };
        if (values['key-file'] !== undefined) delete known['token-file'];
        if (values['token-file'] !== undefined) delete known['key-file'];
        const context = { ...known, ...Object.fromEntries(given) };
        const all = { ...contexts.contexts, [values.name]: context };
        return [
          { current: contexts.current ?? values.name, contexts: all },
          `context "${values.name}" is set`,
        ];
      }),
  },
  'use-context': {
    doc: 'makes a context the current one',
    ...name,
    ...oneOfMany,
    run: ({ name: current }: { readonly name: string }, io: Io) =>
      change(io, contexts => {
        requireContext(contexts, current);
        return [{ ...contexts, current }, `context "${current}" is now the current one`];
      }),
  },
  'get-contexts': {
    doc: 'lists the contexts; a star marks the current one',
    settings: { output: { ...outputFormats('table', 'json', 'yaml', 'name'), short: 'o' } },
    ...oneOfMany,
    async run({ output }: { readonly output: 'table' | 'json' | 'yaml' | 'name' }, { env, out, style }: Io) {
      const { current, contexts } = readContexts(env);
      const entries = Object.entries(contexts);
      if (output === 'name') return out(entries.map(([one]) => `${one}\n`).join(''));
      if (output !== 'table') return out(await toOutput({ current, contexts }, output));
      const rows = entries.map(([one, context]) => [
        one === current ? '*' : '',
        one,
        context.gateway ?? '',
        context['key-file'] ?? context['token-file'] ?? '',
        context.cluster ?? '',
      ]);
      out(renderTable(['current', 'name', 'gateway', 'credentials', 'cluster'], rows, { style }));
    },
  },
  'current-context': {
    doc: 'prints the name of the current context',
    settings: {},
    ...oneOfMany,
    async run(_: object, { env, out }: Io) {
      const { current } = readContexts(env);
      if (current === undefined)
        throw new Error('no context is current; choose one with fairlead config use-context NAME');
      out(`${current}\n`);
    },
  },
  'delete-context': {
    doc: 'removes a context; its key and token files stay',
    ...name,
    ...oneOfMany,
    run: ({ name: removed }: { readonly name: string }, io: Io) =>
      change(io, contexts => {
        requireContext(contexts, removed);
        const { [removed]: _, ...others } = contexts.contexts;
        const { current } = contexts;
        const left = current === undefined || current === removed ? {} : { current };
        return [{ ...left, contexts: others }, `context "${removed}" is removed`];
      }),
  },
};

/** Writes a context. It becomes the current one if there is no other. Returns the flag that selects it, if needed. */
export async function writeContext(env: NodeJS.ProcessEnv, own: string, context: Context): Promise<string> {
  let flag = '';
  await change({ env, err: () => {} }, ({ current = own, contexts }) => {
    flag = current === own ? '' : ` --context ${own}`;
    return [{ current, contexts: { ...contexts, [own]: context } }, ''];
  });
  return flag;
}

/** Changes the file of contexts, whole or not at all, readable by its owner only, and prints the sentence of `work`. */
async function change(
  { env, err }: Pick<Io, 'env' | 'err'>,
  work: (contexts: Contexts) => readonly [Contexts, string],
): Promise<void> {
  const [contexts, sentence] = work(readContexts(env));
  const file = contextsPath(env);
  const fresh = `${file}.${process.pid}`;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(fresh, `${JSON.stringify(contexts, undefined, 2)}\n`, { mode: 0o600, flush: true });
  await rename(fresh, file);
  err(`${sentence}\n`);
}

function readContexts(env: NodeJS.ProcessEnv): Contexts {
  const file = contextsPath(env);
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { contexts: {} };
    throw new Error(`cannot read the contexts in "${file}": ${reasonOf(error)}`, { cause: error });
  }
  const found = toContexts(parseJson(content));
  if (!found)
    throw new Error(
      `"${file}" is not a file of contexts: repair it, or remove it and set the contexts again`,
    );
  return found;
}

/** Returns the contexts with all settings as text, true and false included; undefined for a value of another shape. */
function toContexts(value: unknown): Contexts | undefined {
  const { current, contexts } = Object(value) as Readonly<Record<string, unknown>>;
  const isSound =
    ['string', 'undefined'].includes(typeof current) &&
    isMapping(contexts) &&
    Object.values(contexts).every(
      context =>
        isMapping(context) &&
        Object.values(context).every(setting => ['string', 'boolean'].includes(typeof setting)),
    );
  if (!isSound) return undefined;
  return JSON.parse(JSON.stringify(value), (_, member: unknown) =>
    typeof member === 'boolean' ? String(member) : member,
  ) as Contexts;
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  // A member may be called `constructor`.
  return value !== undefined && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

function requireContext({ contexts }: Contexts, contextName: string): Context {
  const found = Object.hasOwn(contexts, contextName) ? contexts[contextName] : undefined;
  if (found) return found;
  const names = Object.keys(contexts);
  const hint =
    names.length === 0
      ? `create it with fairlead config set-context ${contextName} --gateway URL`
      : `the contexts are ${names.join(', ')}`;
  throw new Error(`there is no context "${contextName}"${suggest(contextName, names)}; ${hint}`);
}
