import { commands } from '../../src/cli/commands.ts';
import { listCommands, usageOf, type Command, type ListedCommand } from '../../src/cli/run.ts';
import { describeSetting, type SettingsTable } from '../../src/lib/settings.ts';
import { version } from '../../src/lib/version.ts';
import { listExits } from './cli.ts';

/** Makes the manual pages from the table of commands, by file name: one page for `fairlead`, and one for each command. */
export async function manPages(): Promise<ReadonlyMap<string, string>> {
  const all = await listCommands({ path: 'fairlead', commands });
  const pages = Object.entries(commands).map(([name, { doc, examples }]) => {
    const path = `fairlead ${name}`;
    const own = all.filter(one => one.path === path || one.path.startsWith(`${path} `));
    return [`fairlead-${name}.1`, toPage(`fairlead-${name}`, doc, toCommands(path, own, examples))] as const;
  });
  return new Map([['fairlead.1', toPage('fairlead', 'a remote CSI gateway', overview(all))], ...pages]);
}

function toPage(name: string, doc: string, body: string): string {
  return `.\\" Generated from the table of commands, src/cli/commands.ts.
.TH ${name.toUpperCase()} 1 "" "Fairlead ${version}" "Fairlead"
.SH NAME
${escape(name)} \\- ${escape(doc)}
${body}`;
}

function overview(all: readonly ListedCommand[]): string {
  const rows = Object.entries(commands).map(
    ([name, { doc }]) => `.TP\n.BR fairlead\\-${escape(name)} (1)\n${escape(doc)}`,
  );
  return `.SH SYNOPSIS
.B fairlead
.I command
[\\-\\-flag value ...]
.br
.B fairlead help
.I command
.SH DESCRIPTION
Every setting of a command is a flag or an environment variable. The flag wins.
.SH COMMANDS
${rows.join('\n')}
${toExits(all)}`;
}

function toCommands(path: string, own: readonly ListedCommand[], examples: Command['examples'] = []): string {
  const usages = own.map(one => `.B ${escape(usageOf(one.path, one.command))}`).join('\n.br\n');
  const isGroup = own.some(one => one.path !== path);
  const sections = own.map(({ path: words, doc, command: { settings } }) => {
    const head = isGroup ? `.SH ${escape(words.toUpperCase())}\n${escape(doc)}\n` : '.SH SETTINGS\n';
    return `${head}${toSettings(settings)}`;
  });
  return `.SH SYNOPSIS
${usages}
${sections.join('')}${toExits(own)}${toExamples(examples)}.SH SEE ALSO
.BR fairlead (1)
`;
}

function toExits(own: readonly ListedCommand[]): string {
  const meanings = listExits(own).map(
    ({ path, status, meaning }) => `.TP\n.B ${status}\n${escape(`${path}: ${meaning}`)}\n`,
  );
  return `.SH EXIT STATUS
.TP
.B 0
success
.TP
.B 1
failure, with a line on standard error for each fault
${meanings.join('')}`;
}

function toExamples(examples: readonly string[]): string {
  if (examples.length === 0) return '';
  return `.SH EXAMPLES\n${examples.map(one => `.B ${escape(one)}`).join('\n.br\n')}\n`;
}

function toSettings(settings: SettingsTable): string {
  return Object.entries(settings)
    .map(([name, setting]) => {
      const { flags, doc, facts } = describeSetting(name, setting);
      return `.TP\n.B ${escape(flags)}\n${escape(doc)}\n.br\n${escape(facts)}\n`;
    })
    .join('');
}

/** Escapes text for troff: it changes backslashes and dashes, and treats a line that starts with a dot or a quote as a request. */
function escape(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll('…', '...')
    .replaceAll(/^(?=[.'])/gm, '\\&');
}
