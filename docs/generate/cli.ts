import { commands } from '../../src/cli/commands.ts';
import { connectionSettings } from '../../src/cli/connection.ts';
import { listCommands, usageOf, type Listed } from '../../src/cli/run.ts';
import type { SettingsTable } from '../../src/lib/settings.ts';

/** The chapter on the command line, whose tables come from that of the commands; `toTable` writes settings. */
export async function cli(toTable: (settings: SettingsTable) => string): Promise<string> {
  const all = await listCommands({ path: 'fairlead', commands });
  const groups = Map.groupBy(
    all.filter(({ command }) => command.fallback),
    ({ path }) => path.split(' ').slice(0, 2).join(' '),
  );
  const sections = [...groups].map(([path, group]) => toSection(path, group, toTable));
  return `# Command line

Generated from the table of commands, \`src/cli/commands.ts\`. \`fairlead --help\` lists all commands, \`fairlead COMMAND --help\` the
settings of one; those of the programs (\`gateway\`, \`controller\`, \`node\`, \`dev\`) are in [config.md](config.md). What follows is for operators and
for [readers of what operators see](../gateway.md#who-may-do-what): clients of the gateway that need its address and a key, and nothing
else.

\`\`\`sh
fairlead config set-context prod --gateway https://storage.example --key-file operator.jwk.json
fairlead get volumes                              # of all clusters
fairlead get volumes --cluster east --sort-by -size -o wide
fairlead get attachments east.pvc-1 -o json
fairlead get operations --watch
fairlead get audit east.pvc-1 --since 24h
fairlead describe volume east.pvc-1
fairlead explain east.pvc-1                       # what does it wait for?
fairlead top
fairlead get volumes --cluster east -o name --no-headers | xargs -n 1 fairlead explain
\`\`\`

## Rules
* **Data goes to standard output, all else to standard error.** JSON and YAML are what the API answers
  (\`/openapi.json\`): a list is an object with one member, and what is named alone is the thing itself. With \`-o name\` a line is one id, which
  all commands take. While it is watched, each change is a line: \`added\`, \`changed\` or \`removed\`, with \`-o json\` or \`-o yaml\` an object of
  JSON with \`event\` and \`entry\`.
* **A flag wins over a variable, a variable over the context.** Each setting \`--name\` is also \`FAIRLEAD_NAME\`. Of key and token
  files those win together: neither is taken from a context when one of them is given.
* **Names.** A volume or snapshot is \`CLUSTER.NAME\`, a node \`CLUSTER/NODE\`. With \`--cluster\`, or a context that has a
  cluster, its name in front may be left out. \`-A\` means all clusters, whatever the context says.
* **Colours** only in a terminal, and not when \`NO_COLOR\` is set.

| exit status | means |
|---|---|
| 0 | it is done; what was asked for is there |
| 1 | it failed: a bad flag, a gateway that cannot be reached, a refusal. Each fault is one line on standard error; one from the gateway has its request id with it |
| 2 | it was answered, but something was not found (\`get\`, \`describe\`), waits (\`explain\`), or is left that should not be (\`admin audit\`, \`admin repair\`) |

## Contexts
A context has the address of a gateway, a file with a key or a token, the token's audience, a file with certificates, and a
cluster that is meant when none is named. All are in \`$XDG_CONFIG_HOME/fairlead/contexts.json\` (\`~/.config\` without that variable), which its owner
alone can read; it names files with secrets, and holds none.

## Completion
\`source <(fairlead completion bash)\`, after \`compinit\` \`source <(fairlead completion zsh)\`, or \`fairlead completion fish | source\`. Names are asked of the
gateway of the current context.

## How each command reaches the gateway
${toTable(connectionSettings)}

${sections.join('\n\n')}
`;
}

function toSection(
  path: string,
  group: readonly Listed[],
  toTable: (settings: SettingsTable) => string,
): string {
  const rows = group.map(
    ({ path: own, doc, command }) =>
      `| \`${usageOf(own, command).replace(' [--flag value …]', '')}\` | ${doc.replaceAll('|', '\\|')} |`,
  );
  const all = group.flatMap(({ command }) => Object.entries(command.settings));
  const shared: SettingsTable = group.some(({ command }) => 'timeout' in command.settings)
    ? connectionSettings
    : {};
  const own = all.filter(
    ([name, { default: fallback }]) => !shared[name] || shared[name].default !== fallback,
  );
  // What several have is as the first of them has it.
  const settings = Object.fromEntries(own.toReversed());
  const table =
    own.length === 0 ? '' : `\n\n${toTable(Object.fromEntries(Object.entries(settings).toReversed()))}`;
  return `## ${path}\n\n| command | does |\n|---|---|\n${rows.join('\n')}${table}`;
}
