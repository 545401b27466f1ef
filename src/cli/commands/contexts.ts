import { reasonOf } from '../../lib/words/failures.ts';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { poll } from '../../lib/concurrency.ts';
import { parseJson } from '../../lib/json.ts';
import { httpUrl, localPath, text, trueOrFalse } from '../../lib/parsers.ts';
import { allowHttpSetting, type SettingsOf, type Sources } from '../../lib/settings.ts';
import { suggest } from '../../lib/words/suggest.ts';
import { outputFormats, toOutput } from '../output/formats.ts';
import { renderTable } from '../output/table.ts';
import type { Commands, Io } from '../run.ts';

/** A context: settings by the names of their flags, as typed. It holds paths of files with secrets, never a secret. */
export type Context = Readonly<Partial<Record<keyof typeof contextSettings, string>>>;

type Contexts = { readonly current?: string; readonly contexts: Readonly<Record<string, Context>> };

/** The settings that a context may have. */
export const contextSettings = {
  gateway: { doc: 'address of the gateway, such as https://storage.example', parse: httpUrl, optional: true },
  'allow-http': {
    doc: allowHttpSetting.doc,
    parse: trueOrFalse,
    optional: true,
    isSwitch: true,
  },
  'key-file': { doc: "file with an operator's private key (a JWK)", parse: localPath, optional: true },
  'token-file': { doc: 'file with a bearer token, in place of --key-file', parse: localPath, optional: true },
  'ca-file': {
    doc: "PEM file with the certificates that sign the gateway's certificate; default: the system's",
    parse: localPath,
    optional: true,
  },
  'tls-cert-file': {
    doc: 'PEM file with a client certificate, if the gateway requires one',
    parse: localPath,
    optional: true,
  },
  'tls-key-file': { doc: 'PEM file with the key of --tls-cert-file', parse: localPath, optional: true },
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
const byName = { settings: { name: nameSetting }, operands: ['name'] } as const;
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
    ...byName,
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
    ...byName,
    ...oneOfMany,
    run: ({ name: removed }: { readonly name: string }, io: Io) =>
      change(io, contexts => {
        requireContext(contexts, removed);
        return [withoutContext(contexts, removed), `context "${removed}" is removed`];
      }),
  },
};

/** A context that a program has written for as long as it runs. `flag` selects it in a command; empty where it is current. */
export type WrittenContext = { readonly name: string; readonly flag: string; remove(): Promise<void> };

/**
 * Writes a context, which becomes the current one if there is no other. If the context with this name has another key file,
 * or none, it stays, and the new name gets a number.
 */
export async function writeContext(
  env: NodeJS.ProcessEnv,
  wanted: string,
  context: Context,
): Promise<WrittenContext> {
  let [name, isCurrent] = [wanted, false];
  await change({ env }, all => {
    for (let number = 2; isOfAnother(all.contexts[name], context); number++) name = `${wanted}-${number}`;
    const { current = name } = all;
    isCurrent = current === name;
    return [{ current, contexts: { ...all.contexts, [name]: context } }];
  });
  const remove = (): Promise<void> =>
    change({ env }, all => {
      const isOwn =
        all.contexts[name]?.gateway === context.gateway && !isOfAnother(all.contexts[name], context);
      return [isOwn ? withoutContext(all, name) : all];
    });
  return { name, flag: isCurrent ? '' : ` --context ${name}`, remove };
}

/** Says whether a context has other credentials that still exist. */
function isOfAnother(known: Context | undefined, own: Context): boolean {
  if (known === undefined || known['key-file'] === own['key-file']) return false;
  return known['key-file'] === undefined || existsSync(known['key-file']);
}

function withoutContext({ current, contexts }: Contexts, removed: string): Contexts {
  const { [removed]: _, ...others } = contexts;
  return { ...(current !== undefined && current !== removed && { current }), contexts: others };
}

/**
 * Changes the file of contexts, whole or not at all, readable by its owner only, and prints the sentence of `work`. Other
 * processes wait with their changes meanwhile.
 */
async function change(
  { env, err = () => {} }: Pick<Io, 'env'> & Partial<Pick<Io, 'err'>>,
  work: (contexts: Contexts) => readonly [Contexts, string?],
): Promise<void> {
  const file = contextsPath(env);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.new`;
  await using opened = await openAlone(fresh);
  try {
    const [contexts, sentence] = work(readContexts(env));
    await opened.writeFile(`${JSON.stringify(contexts, undefined, 2)}\n`);
    await opened.sync();
    await rename(fresh, file);
    if (sentence !== undefined) err(`${sentence}\n`);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}

/** Creates the file once no other process has it. A change takes milliseconds, so a file that stays is of a killed process. */
async function openAlone(path: string): Promise<FileHandle> {
  const create = (): Promise<FileHandle | undefined> =>
    open(path, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
      return undefined;
    });
  return (await poll(create, { everyMs: 20, timeoutMs: 5_000 })) ?? open(path, 'w', 0o600);
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
