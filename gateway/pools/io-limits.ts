import * as z from 'zod';
import { ioLimitNames, ioLimitSchema, type IoLimitName } from '../../src/api/attachments/io-limits.ts';
import type { Backend, Modification } from '../backend.ts';

type Parameters = Readonly<Record<string, string>>;
/** The limits that the gateway adds to a backend, and the modification with them. */
type Addition = { readonly names: readonly IoLimitName[]; readonly modification: Modification | undefined };

/**
 * Adds limits of I/O to the mutable parameters of a backend with devices, except those that its storage has itself. The
 * attachments carry them to the nodes, unless the storage enforces them.
 */
export function withIoLimits(backend: Backend): Backend {
  if (backend.areShares) return backend;
  const known = new WeakMap<object, Addition>();
  // A storage may offer other parameters later.
  const addition = (): Addition =>
    known.getOrInsertComputed(backend.modification ?? backend, () => addTo(backend.modification));
  const create: Backend['create'] = ({ mutableParameters, ...volume }) => {
    const own = backend.modification && mutableParameters && omit(addition().names, mutableParameters);
    return backend.create(own ? { ...volume, mutableParameters: own } : volume);
  };
  const attach: Backend['attach'] = async (volume, access) => {
    const { names } = addition();
    const { limits: all = {}, ...rest } = access;
    const limits = Object.fromEntries(names.flatMap(name => (all[name] ? [[name, all[name]]] : [])));
    const reach = await backend.attach(volume, { ...rest, limits });
    return reach.limitsIo ? reach : { ...reach, ...limits };
  };
  // Proxies may return other values only for configurable members.
  const configurable = true;
  return Object.create(backend, {
    modification: { get: () => addition().modification, configurable },
    create: { value: create, configurable },
    attach: { value: attach, configurable },
  }) as Backend;
}

function addTo(own: Modification | undefined): Addition {
  const { properties = {}, additionalProperties } = documentOf(own?.parameters ?? z.strictObject({}));
  const names = ioLimitNames.filter(
    name => additionalProperties === false && !Object.hasOwn(properties, name),
  );
  if (names.length === 0) return { names, modification: own };
  const added = z.strictObject(Object.fromEntries(names.map(name => [name, ioLimitSchema(name)])));
  return {
    names,
    modification: {
      parameters: own ? join(names, own.parameters, added) : added,
      async apply(volume, parameters) {
        const rest = omit(names, parameters);
        if (Object.keys(rest).length > 0) await own?.apply(volume, rest);
      },
    },
  };
}

function join(
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
