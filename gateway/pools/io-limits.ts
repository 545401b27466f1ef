import * as z from 'zod';
import { ioLimitNames, ioLimitSchema, type IoLimitName } from '../../src/api/attachments/io-limits.ts';
import type { Backend, Modification } from '../backend.ts';

type Parameters = Readonly<Record<string, string>>;
/** The limits that the gateway adds to a backend, and the modification with them. */
type AddedLimits = {
  readonly names: readonly IoLimitName[];
  readonly modification: Modification | undefined;
};

/**
 * Adds limits of I/O to the mutable parameters of a backend with devices, except those that its storage has itself. The
 * attachments carry them to the nodes, unless the storage enforces them.
 */
export function withIoLimits(backend: Backend): Backend {
  if (backend.areShares) return backend;
  const known = new WeakMap<object, AddedLimits>();
  // A storage may offer other parameters later.
  const addedLimits = (): AddedLimits =>
    known.getOrInsertComputed(backend.modification ?? backend, () => limitsFor(backend.modification));
  const create: Backend['create'] = ({ mutableParameters, ...volume }) => {
    const own = backend.modification && mutableParameters && omit(addedLimits().names, mutableParameters);
    return backend.create(own ? { ...volume, mutableParameters: own } : volume);
  };
  const attach: Backend['attach'] = async (volume, access) => {
    const { names } = addedLimits();
    const { limits: all = {}, ...rest } = access;
    const limits = Object.fromEntries(names.flatMap(name => (all[name] ? [[name, all[name]]] : [])));
    const reach = await backend.attach(volume, { ...rest, limits });
    return reach.limitsIo ? reach : { ...reach, ...limits };
  };
  // wrapCalls makes a Proxy of this object, which must return the real value of a member that is not configurable.
  const configurable = true;
  return Object.create(backend, {
    modification: { get: () => addedLimits().modification, configurable },
    create: { value: create, configurable },
    attach: { value: attach, configurable },
  }) as Backend;
}

function limitsFor(own: Modification | undefined): AddedLimits {
  const { properties = {}, additionalProperties } = documentOf(own?.parameters ?? z.strictObject({}));
  const names = ioLimitNames.filter(
    name => additionalProperties === false && !Object.hasOwn(properties, name),
  );
  if (names.length === 0) return { names, modification: own };
  const added = z.strictObject(Object.fromEntries(names.map(name => [name, ioLimitSchema(name)])));
  return {
    names,
    modification: {
      parameters: own ? mergeSchemas(names, own.parameters, added) : added,
      async apply(volume, parameters) {
        const rest = omit(names, parameters);
        if (Object.keys(rest).length > 0) await own?.apply(volume, rest);
      },
    },
  };
}

function mergeSchemas(
  names: readonly IoLimitName[],
  own: Modification['parameters'],
  added: Modification['parameters'],
): Modification['parameters'] {
  const document = documentOf(own);
  return z
    .record(z.string(), z.string())
    .superRefine((value, { issues }) => {
      const rest = omit(names, value);
      const limits = omit(Object.keys(rest), value);
      for (const { error } of [own.safeParse(rest), added.safeParse(limits)])
        for (const issue of error?.issues ?? [])
          issues.push({ ...issue, input: value } as (typeof issues)[number]);
    })
    .meta({ ...document, properties: { ...document.properties, ...documentOf(added).properties } });
}

function documentOf(schema: z.ZodType): z.core.JSONSchema.BaseSchema {
  const { $schema: _, ...document } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return document;
}

function omit(names: readonly string[], parameters: Parameters): Parameters {
  return Object.fromEntries(Object.entries(parameters).filter(([name]) => !names.includes(name)));
}
