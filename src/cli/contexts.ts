import { readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseJson } from '../lib/json.ts';
import { choice, httpUrl, text } from '../lib/parsers.ts';
import { suggest, type SettingsOf, type Sources } from '../lib/settings.ts';
import { outputFormats, toOutput } from './output/formats.ts';
import { renderTable } from './output/table.ts';
import type { Commands, Io } from './run.ts';

/** A context: settings by their flags' names, as they are typed. It names files with secrets, and holds none. */
export type Context = Readonly<Partial<Record<keyof typeof contextSettings, string>>>;

/** The file of contexts. */
type Contexts = { readonly current?: string; readonly contexts: Readonly<Record<string, Context>> };

const path = (value: string): string => resolve(text(value));
const yesOrNo = choice('true', 'false');

/** What a context has; each may be left out. */
export const contextSettings = {
  gateway: { doc: 'address of the gateway, such as https://storage.example', parse: httpUrl, optional: true },
  'allow-http': {
    doc: 'true takes an http:// address of another machine, over which tokens and data go unencrypted',
    parse: yesOrNo,
    optional: true,
    isSwitch: true,
  },
  'key-file': { doc: "file with an operator's private key (a JWK)", parse: path, optional: true },
  'token-file': { doc: 'in place of a key: a file with a bearer token', parse: path, optional: true },
  'ca-file': {
    doc: "PEM file with the certificates that the gateway's is signed by; without it the system's",
    parse: path,
    optional: true,
  },
  'tls-cert-file': {
    doc: 'PEM file with a certificate, where the gateway asks for one',
    parse: path,
    optional: true,
  },
  'tls-key-file': { doc: "PEM file with that certificate's key", parse: path, optional: true },
  audience: { doc: "the tokens' audience, as set at the gateway", parse: text, optional: true },
  cluster: {
    doc: 'the cluster that is listed unless another is named, or all are',
    parse: text,
    optional: true,
  },
} as const;

/** Where the contexts are: below XDG_CONFIG_HOME, or ~/.config. */
function contextsPath(env: NodeJS.ProcessEnv): string {
  const directory = env['XDG_CONFIG_HOME'] || join(env['HOME'] ?? homedir(), '.config');
  return join(directory, 'fairlead', 'contexts.json');
}

/** What the context that is named, or the current one, says. What proves who asks is never taken in part. */
export function contextFallback(env: NodeJS.ProcessEnv): NonNullable<Sources['fallback']> {
  return given => {
    const contexts = readContexts(env);
    const name = given('context') ?? contexts.current;
    if (name === undefined) return {};
    const { 'key-file': keyFile, 'token-file': tokenFile, ...rest } = requireContext(contexts, name);
    const isProved = given('key-file') !== undefined || given('token-file') !== undefined;
    return isProved ? rest : { ...rest, 'key-file': keyFile, 'token-file': tokenFile };
  };
}

const nameSetting = { doc: "the context's name", parse: text } as const;
const name = { settings: { name: nameSetting }, operands: ['name'] } as const;
const oneOfMany = { fallback: () => () => ({}) } as const;

/** What changes and shows contexts. */
export const configCommands: Commands = {
  'set-context': {
    doc: 'makes a context, or changes what is given of it; the first one is used from then on',
    settings: { name: nameSetting, ...contextSettings },
    operands: ['name'],
    ...oneOfMany,
    run: (values: SettingsOf<typeof contextSettings> & { readonly name: string }, io: Io) =>
      change(io, contexts => {
        const given = Object.keys(contextSettings)
          .map(key => [key, values[key as keyof Context]] as const)
          .filter(([, value]) => value !== undefined);
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
    doc: 'makes a context the one that is used',
    ...name,
    ...oneOfMany,
    run: ({ name: current }: { readonly name: string }, io: Io) =>
      change(io, contexts => {
        requireContext(contexts, current);
        return [{ ...contexts, current }, `context "${current}" is used from now on`];
      }),
  },
  'get-contexts': {
    doc: 'lists the contexts; the one that is used has a star',
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
    doc: 'prints the name of the context that is used',
    settings: {},
    ...oneOfMany,
    async run(_: object, { env, out }: Io) {
      const { current } = readContexts(env);
      if (current === undefined) throw new Error('no context is used');
      out(`${current}\n`);
    },
  },
  'delete-context': {
    doc: 'removes a context; the files that it names stay',
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

/** Writes what comes of it, whole or not at all; it is for its owner alone. */
async function change(
  { env, err }: Io,
  work: (contexts: Contexts) => readonly [Contexts, string],
): Promise<void> {
  const [contexts, said] = work(readContexts(env));
  const file = contextsPath(env);
  const fresh = `${file}.${process.pid}`;
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(fresh, `${JSON.stringify(contexts, undefined, 2)}\n`, { mode: 0o600, flush: true });
  await rename(fresh, file);
  err(`${said}\n`);
}

function readContexts(env: NodeJS.ProcessEnv): Contexts {
  const file = contextsPath(env);
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { contexts: {} };
    throw new Error(`"${file}" cannot be read (${code})`, { cause: error });
  }
  const found = parseJson(content) as Partial<Contexts> | undefined;
  if (typeof found?.contexts !== 'object') throw new Error(`"${file}" does not hold contexts`);
  return { ...found, contexts: found.contexts };
}

function requireContext({ contexts }: Contexts, one: string): Context {
  const found = Object.hasOwn(contexts, one) ? contexts[one] : undefined;
  if (found) return found;
  const names = Object.keys(contexts);
  const there = names.length === 0 ? 'there is none' : `there are ${names.join(', ')}`;
  throw new Error(`there is no context "${one}"${suggest(one, names)}; ${there}`);
}
