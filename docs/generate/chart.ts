import { Document, isMap, isScalar, type Pair, type YAMLMap } from 'yaml';
import * as z from 'zod';
import { values } from '../../deploy/values/values.ts';
import { type Schema, toMembers } from './members.ts';

const schema = z.toJSONSchema(values, { io: 'input', target: 'draft-7', unrepresentable: 'any' });

/** Generates the chart's files from its table of values, by their paths from `docs/`. */
export function chartFiles(): Readonly<Record<string, string>> {
  return {
    'reference/chart.md': chartDocument(),
    '../deploy/chart/values.yaml': valuesFile(),
    '../deploy/chart/values.schema.json': `${JSON.stringify(schema, undefined, 2)}\n`,
  };
}

/** Writes the defaults as YAML, each with its description as a comment. */
function valuesFile(): string {
  const document = new Document(values.parse({}));
  if (isMap(document.contents)) explain(document.contents, schema as Schema, true);
  return `# Generated from deploy/values/ by npm run generate.\n${document.toString({ lineWidth: 0, flowCollectionPadding: false })}`;
}

function explain(map: YAMLMap, { properties = {} }: Schema, isTop = false): void {
  for (const pair of map.items as readonly Pair[]) {
    const { key, value } = pair;
    const member = isScalar(key) ? properties[String(key.value)] : undefined;
    if (!isScalar(key) || !member) continue;
    if (isTop) key.spaceBefore = true;
    key.commentBefore = ` ${member.description ?? ''}`;
    if (isMap(value)) explain(value, member);
  }
}

function chartDocument(): string {
  const rows = toMembers(schema as Schema)
    .filter(({ path }) => !schemaAt(path)?.properties)
    .map(
      ({ path, state, doc }) =>
        `| \`${path}\` | ${state.replaceAll('|', '\\|')} | ${doc.replaceAll('|', '\\|')} |`,
    );
  return `# Values of the Helm chart

Generated from \`deploy/values/\`. [guides/kubernetes.md](../guides/kubernetes.md) goes from two machines to a pod with a volume;
[nodes.md](../nodes.md) and [gateway.md](../gateway.md) explain the settings.

| value | default | meaning |
|---|---|---|
${rows.join('\n')}
`;
}

function schemaAt(path: string): Schema | undefined {
  return path
    .split('.')
    .reduce<Schema | undefined>((around, name) => around?.properties?.[name], schema as Schema);
}
