import type { z } from 'zod';
import type { Operation, OperationId, Operations, Request } from '../../api/operations.ts';

export type VendorOperationId = {
  [Id in OperationId]: Operations[Id] extends { readonly vendor: string } ? Id : never;
}[OperationId];

/** The input of an operation: the ids of the path, the query and the body, checked against the schemas of its row. */
export type OperationInput<Id extends VendorOperationId> = Request<Operations[Id]>;

/** The answer of an operation: a status of its row with its document, or 202 for work that continues in the storage. */
export type Answer<Id extends VendorOperationId> = AnswerOf<Operations[Id]>;

type AnswerOf<O extends Operation> =
  | (O['answers'] extends { readonly 200: infer Shown extends z.ZodType }
      ? readonly [status: keyof O['answers'] & (200 | 201), document: z.input<Shown>]
      : readonly [status: 204])
  | (O['answers'] extends { readonly 202: unknown } ? readonly [status: 202, document?: object] : never);

/** A vendor's implementations of the operations, by id. A missing one answers UNIMPLEMENTED. Errors are a `Problem`. */
export type VendorOperations = {
  readonly [Id in VendorOperationId]?: (input: OperationInput<Id>) => Answer<Id> | Promise<Answer<Id>>;
};

export type AnyAnswer = readonly [status: 200 | 201 | 202 | 204, document?: object];
