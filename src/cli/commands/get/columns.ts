import * as z from 'zod';
import { suggest } from '../../../lib/words/suggest.ts';
import type { Column, Kind } from '../../kind.ts';

/** The parts of a JSON schema that lead to members. */
type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
};

/**
 * Reads the columns of `custom-columns=…`, separated by commas: a column of the table by its name, or HEAD:PATH with the
 * path of a member in JSON, such as `SIZE:.sizeBytes`. The entries of an array are joined by commas.
 */
export function toCustomColumns(kind: Kind, text: string): readonly Column[] {
  return text.split(',').map(part => {
    const [head = '', path] = part.split(/:(.*)/, 2);
    return path === undefined ? findColumn(kind, head) : toPathColumn(kind, head, path);
  });
}

function findColumn({ columns }: Kind, name: string): Column {
  const heads = columns.map(({ head }) => head);
  const found = columns.find(({ head }) => head === name);
  if (found) return found;
  throw new Error(
    `--output: there is no column "${name}"${suggest(name, heads)}; the columns are ${heads.join(', ')}; for any member write HEAD:.member`,
  );
}

function toPathColumn(kind: Kind, head: string, path: string): Column {
  // A path may also mark arrays, as in .attachments[*].nodeId.
  const plain = path.replaceAll('[*]', '').replace(/^\{(.*)\}$/, '$1');
  if (head === '' || !/^(\.[\w~/-]+)+$/.test(plain))
    throw new Error(`--output: "${head}:${path}" is not HEAD:PATH, such as SIZE:.sizeBytes`);
  const members = plain.slice(1).split('.');
  requireMembers(kind, members);
  return { head, of: entry => valuesAt(entry, members).map(toText).join(',') };
}

/** Throws an error that names the members if an entry cannot have this path. */
function requireMembers({ schema, one }: Kind, members: readonly string[]): void {
  const root = z.toJSONSchema(schema, { unrepresentable: 'any' }) as Schema;
  let objects = objectsOf(root, root);
  let place = `a ${one}`;
  for (const member of members) {
    const known = objects.flatMap(({ properties = {} }) => Object.keys(properties));
    const next = objects.flatMap(({ properties, additionalProperties }) => {
      const found = properties ? properties[member] : additionalProperties;
      return typeof found === 'object' ? objectsOf(found, root) : [];
    });
    if (next.length === 0)
      throw new Error(
        `--output: ${place} has no member "${member}"${suggest(member, known)}${known.length > 0 ? `; its members are ${known.join(', ')}` : ''}`,
      );
    objects = next;
    place = `"${member}" of ${place}`;
  }
}

/** Lists the forms that a schema allows; an array stands for its entries. */
function objectsOf(schema: Schema, root: Schema): readonly Schema[] {
  const { $ref, items, anyOf = [], oneOf = [], allOf = [] } = schema;
  if ($ref !== undefined) {
    const target = root.$defs?.[$ref.replace('#/$defs/', '')];
    return target ? objectsOf(target, root) : [];
  }
  if (items) return objectsOf(items, root);
  const forms = [...anyOf, ...oneOf, ...allOf];
  return forms.length > 0 ? forms.flatMap(form => objectsOf(form, root)) : [schema];
}

function valuesAt(value: unknown, [member, ...rest]: readonly string[]): readonly unknown[] {
  if (Array.isArray(value))
    return value.flatMap(entry => valuesAt(entry, member === undefined ? [] : [member, ...rest]));
  if (value === undefined || value === null) return [];
  if (member === undefined) return [value];
  if (typeof value !== 'object' || !Object.hasOwn(value, member)) return [];
  return valuesAt((value as Readonly<Record<string, unknown>>)[member], rest);
}

function toText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
