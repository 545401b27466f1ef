import type { SettingsTable } from '../../lib/settings.ts';
import { listCommands, type Commands, type Io, type Runnable } from '../run.ts';

/** The words that a shell offers after one command. */
type Completion = {
  /** The command's words, separated by spaces; empty for `fairlead` itself. Further paths are other names of it. */
  readonly paths: readonly [path: string, ...others: string[]];
  /** Descriptions of the subcommands by their names. */
  readonly commands: ReadonlyMap<string, string>;
  readonly settings: SettingsTable;
  /** A fairlead command that prints the possible operands, one a line. */
  readonly names?: string | undefined;
};

/**
 * Lists the completions of every command and of every prefix of its words. As in kubectl, a shell proposes only the first
 * name of a command, but completes the line after any name of it.
 */
async function completionsOf(commands: Commands): Promise<readonly Completion[]> {
  const listed = await listCommands({ path: '', commands });
  const groups = new Map<string, Map<string, string>>([['', new Map()]]);
  for (const { path, doc } of listed) {
    const words = path.trim().split(' ');
    for (const [index, word] of words.entries()) {
      const isLast = index === words.length - 1;
      const group = groups.getOrInsertComputed(words.slice(0, index).join(' '), () => new Map());
      if (!group.has(word)) group.set(word, isLast ? doc : (commands[word]?.doc ?? ''));
    }
  }
  return [
    ...[...groups].map(([path, words]): Completion => ({ paths: [path], commands: words, settings: {} })),
    ...listed.map(({ path, aliases, command }): Completion => {
      const own = path.trim();
      const paths: Completion['paths'] = [own, ...aliases.map(alias => alias.trim())];
      return { paths, commands: new Map(), settings: command.settings, names: namesOf(own, command) };
    }),
  ];
}

/** Finds the fairlead command that prints the possible values of the first operand. */
function namesOf(path: string, { operands: [first] = [] }: Runnable): string | undefined {
  const [verb, kind = ''] = path.split(' ');
  if (first === undefined) return undefined;
  if (verb === 'get' && kind === 'audit-log') return undefined;
  if (verb === 'get') return `get ${kind === 'history' ? 'pools' : kind} -o name`;
  if (verb === 'describe') return `get ${kind} -o name`;
  if (first === 'volume' || verb === 'explain') return 'get volumes -o name';
  return verb === 'config' ? 'config get-contexts -o name' : undefined;
}

export function completionCommands(commands: () => Commands): Commands {
  const writers = { bash: toBash, zsh: toZsh, fish: toFish };
  const hints = {
    bash: 'source <(fairlead completion bash)',
    zsh: 'source <(fairlead completion zsh), after compinit',
    fish: 'fairlead completion fish | source',
  };
  return Object.fromEntries(
    Object.entries(writers).map(([shell, write]) => [
      shell,
      {
        doc: hints[shell as keyof typeof hints],
        settings: {},
        fallback: () => () => ({}),
        run: async (_: object, { out }: Io) => out(write(await completionsOf(commands()))),
      },
    ]),
  );
}

const quote = (words: string): string => `'${words.replaceAll("'", `'\\''`)}'`;

const flagsOf = (settings: SettingsTable): string =>
  Object.entries(settings)
    .map(([name, { short }]) => (short === undefined ? `--${name}` : `--${name} -${short}`))
    .join(' ');

/** Lists the values of a setting that takes one of a few words; empty for other settings. */
function wordsOf(setting: SettingsTable[string]): readonly string[] {
  const { parse, isSwitch } = setting as typeof setting & { parse: { readonly words?: readonly string[] } };
  return isSwitch ? [] : (parse.words ?? []);
}

/** Lists the flags that take one of a few words, as a shell pattern with those words. */
function valuesOf(settings: SettingsTable): readonly (readonly [flags: string, words: readonly string[]])[] {
  return Object.entries(settings).flatMap(([name, setting]) => {
    const words = wordsOf(setting);
    const flags = setting.short === undefined ? `--${name}` : `--${name}|-${setting.short}`;
    return words.length === 0 ? [] : [[flags, words] as const];
  });
}

/**
 * Writes the cases of one shell `case` over the commands, for bash and zsh. After a flag with known values they offer these
 * values, elsewhere flags, subcommands or names.
 */
function toCases(all: readonly Completion[]): string {
  return all
    .map(({ paths, commands, settings, names }) => {
      const values = valuesOf(settings).map(([flags, words]) => `${flags}) list=${quote(words.join(' '))};;`);
      const operands = names === undefined ? "''" : `"$(fairlead ${names} 2>/dev/null)"`;
      const next = commands.size > 0 ? quote([...commands.keys()].join(' ')) : operands;
      const usual = `case "$word" in -*) list=${quote(flagsOf(settings))};; *) list=${next};; esac`;
      const cases = [...values, `*) ${usual};;`].map(one => `        ${one}\n`).join('');
      return `    ${paths.map(quote).join('|')})\n      case "$before" in\n${cases}      esac;;\n`;
    })
    .join('');
}

/** Writes the shell code that finds the command among the words typed so far and fills `list` with the next words. */
function toBody(all: readonly Completion[]): string {
  const known = quote(`|${all.flatMap(({ paths }) => paths).join('|')}|`);
  return `  local known=${known} at='' list='' one
  for one in "\${said[@]}"; do
    case "$known" in *"|\${at:+$at }$one|"*) at="\${at:+$at }$one";; esac
  done
  case "$at" in
${toCases(all)}  esac
`;
}

function toBash(all: readonly Completion[]): string {
  return `# bash completion of fairlead
_fairlead() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]}
  local said=("\${COMP_WORDS[@]:1:COMP_CWORD-1}")
${toBody(all)}  COMPREPLY=($(compgen -W "$list" -- "$word"))
}
complete -o default -F _fairlead fairlead
`;
}

function toZsh(all: readonly Completion[]): string {
  return `#compdef fairlead
_fairlead() {
  local word=\${words[CURRENT]} before=\${words[CURRENT-1]}
  local said=("\${(@)words[2,CURRENT-1]}")
${toBody(all)}  if [[ -n "$list" ]]; then compadd -- \${=list}; else _files; fi
}
compdef _fairlead fairlead
`;
}

function toFish(all: readonly Completion[]): string {
  const lines = all.flatMap(({ paths, commands, settings, names }) => {
    const condition = ['__fairlead_at', ...paths.map(path => `'${path}'`)].join(' ');
    const at = `complete -c fairlead -n ${quote(condition)}`;
    const flags = Object.entries(settings).map(([name, setting]) => {
      const words = wordsOf(setting);
      const short = setting.short === undefined ? '' : ` -s ${setting.short}`;
      const takes = setting.isSwitch ? '' : words.length > 0 ? ` -x -a ${quote(words.join(' '))}` : ' -r';
      return `${at} -l ${name}${short}${takes} -d ${quote(setting.doc)}`;
    });
    return [
      ...[...commands].map(([name, doc]) => `${at} -f -a ${quote(name)} -d ${quote(doc)}`),
      ...(names === undefined ? [] : [`${at} -f -a ${quote(`(fairlead ${names} 2>/dev/null)`)}`]),
      ...flags,
    ];
  });
  return `# fish completion of fairlead
set -g __fairlead_known ${all
    .flatMap(({ paths }) => paths)
    .filter(path => path !== '')
    .map(quote)
    .join(' ')}
function __fairlead_at
  set -l path ''
  for one in (commandline -opc)[2..-1]
    set -l next (string trim -- "$path $one")
    contains -- $next $__fairlead_known; and set path $next
  end
  contains -- "$path" $argv
end
${lines.join('\n')}
`;
}
