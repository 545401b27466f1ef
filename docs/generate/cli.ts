import { commands } from '../../src/cli/commands.ts';
import { connectionSettings } from '../../src/cli/connection.ts';
import { listCommands, usageOf, type ListedCommand } from '../../src/cli/run.ts';
import type { SettingsTable } from '../../src/lib/settings.ts';

/** Writes docs/reference/cli.md from the table of commands; `toTable` writes settings. */
export async function cli(toTable: (settings: SettingsTable) => string): Promise<string> {
  const all = await listCommands({ path: 'fairlead', commands });
  const groups = Map.groupBy(
    all.filter(({ command }) => command.fallback),
    ({ path }) => path.split(' ').slice(0, 2).join(' '),
  );
  const examples = Object.entries(commands).flatMap(([name, { examples: own = [] }]) =>
    groups.has(`fairlead ${name}`) ? own : [],
  );
  const exits = listExits(all).map(
    ({ path, status, meaning }) => `| ${status} of \`${path}\` | ${meaning} |`,
  );
  const sections = [...groups].map(([path, group]) => toSection(path, group, toTable));
  return `# Command line

Generated from the table of commands, \`src/cli/commands.ts\`. \`fairlead --help\` lists all commands, and \`fairlead help COMMAND\` the
settings of one command. [config.md](config.md) lists the settings of the programs (\`gateway\`, \`controller\`, \`node\`, \`dev\`). The
commands of this page are for operators and their [readers](../gateway.md#callers-and-their-rights). These commands are clients of the gateway,
and need only its address and a key.

\`\`\`sh
${examples.join('\n')}
\`\`\`

## Rules
* **Data goes to standard output, everything else to standard error.** JSON and YAML have the format of the API
  (\`/openapi.json\`): a list is an object with one member, and a named resource is the resource itself. With \`-o name\` each line is one
  id, which all commands accept. With \`--watch\` each change is a line: \`added\`, \`changed\` or \`removed\`. With \`-o json\` or
  \`-o yaml\` this line is a JSON object with \`event\` and \`entry\`.
* **Columns.** \`-l\` selects entries by columns of the wide table: \`COLUMN=VALUE\` or \`COLUMN!=VALUE\`, separated by commas,
  which all have to hold. The value is the whole cell, or one part of a list such as \`n1\` in \`n1,n2\`. \`cluster=NAME\` wins over
  \`--cluster\`. \`-o custom-columns=\` takes names of columns, and \`HEAD:.member\` for a member in JSON. \`--bytes\` prints
  sizes in bytes. \`-o csv\` has all columns of the wide table, with sizes in bytes and ages in seconds.
* **A cluster that does not exist is an error**, not an empty list.
* **A flag wins over a variable, a variable over the context.** Each setting \`--name\` is also \`FAIRLEAD_NAME\`. If a key or a token
  file is given, the context's key and token are both ignored.
* **Names.** A volume or snapshot is \`CLUSTER.NAME\`, a node \`CLUSTER/NODE\`. With \`--cluster\`, or a context that has a
  cluster, the cluster may be left out. \`-A\` means all clusters, also with such a context. Lists have other names, such as
  \`vol\`, \`snap\`, \`att\` and \`op\`; \`fairlead help get\` shows them.
* **Colours** appear only in a terminal, and not with \`NO_COLOR\`.

| exit status | meaning |
|---|---|
| 0 | the command succeeded |
| 1 | it failed: each fault is one line on standard error, with the request id if it came from the gateway |
${exits.join('\n')}

## Contexts
A context has the address of a gateway, a file with a key or a token, the token's audience, a file with certificates, and a default
cluster. All contexts are in \`$XDG_CONFIG_HOME/fairlead/contexts.json\` (\`~/.config\` without this variable). Only its owner can read
this file. It names files with secrets, and contains no secrets.

## Completion
Run \`source <(fairlead completion bash)\`, \`source <(fairlead completion zsh)\` after \`compinit\`, or
\`fairlead completion fish | source\`. The names come from the gateway of the current context.

## How each command reaches the gateway
${toTable(connectionSettings)}

${sections.join('\n\n')}
`;
}

/** Lists the exit statuses that do not say that a command failed; commands of a group that share one are called by the group. */
export function listExits(all: readonly ListedCommand[]) {
  const known = all.flatMap(({ path, command: { exits = {} } }) =>
    Object.entries(exits).map(([status, meaning]) => ({ path, status, meaning })),
  );
  return [...Map.groupBy(known, one => `${one.status} ${one.meaning}`).values()].flatMap(([one, ...others]) =>
    one ? [others.length === 0 ? one : { ...one, path: one.path.replace(/ \S+$/, '') }] : [],
  );
}

function toSection(
  path: string,
  group: readonly ListedCommand[],
  toTable: (settings: SettingsTable) => string,
): string {
  const rows = group.map(
    ({ path: own, doc, command }) =>
      `| \`${usageOf(own, command).replace(' [--flag value …]', '')}\` | ${doc.replaceAll('|', '\\|')} |`,
  );
  const shared: SettingsTable = group.some(({ command }) => 'timeout' in command.settings)
    ? connectionSettings
    : {};
  const tables = group.map(({ path: own, command }) => {
    const listed = Object.entries(command.settings).filter(
      ([name, setting]) => !shared[name] || shared[name].default !== setting.default,
    );
    return { own, table: listed.length === 0 ? '' : toTable(Object.fromEntries(listed)) };
  });
  const head = `## ${path}\n\n| command | does |\n|---|---|\n${rows.join('\n')}`;
  // Commands with the same settings share a table.
  const byTable = Map.groupBy(
    tables.filter(one => one.table !== ''),
    one => one.table,
  );
  const parts = [...byTable].map(([table, users]) => {
    const names = users.map(({ own }) => `\`${own}\``).join(', ');
    return users.length === group.length ? table : `Settings of ${names}:\n\n${table}`;
  });
  return [head, ...parts].join('\n\n');
}
