import type { z } from 'zod';
import type { Operation, OperationId, Operations, Request } from '../../src/api/operations.ts';

/** The operations of the table that a vendor serves. */
export type VendorOperationId = {
  [Id in OperationId]: Operations[Id] extends { readonly vendor: string } ? Id : never;
}[OperationId];

/** What an operation gets: the ids of the path, the query and the body, read by the schemas of its row. */
export type Asked<Id extends VendorOperationId> = Request<Operations[Id]>;

/** What it answers: a status of its row, with the document that the row has for it; 202 for what goes on elsewhere. */
export type Answer<Id extends VendorOperationId> = AnswerOf<Operations[Id]>;

type AnswerOf<O extends Operation> =
  | (O['answers'] extends { readonly 200: infer Shown extends z.ZodType }
      ? readonly [status: keyof O['answers'] & (200 | 201), document: z.input<Shown>]
      : readonly [status: 204])
  | (O['answers'] extends { readonly 202: unknown } ? readonly [status: 202, document?: object] : never);

/** What a vendor serves, by the ids of the operations; what is missing answers UNIMPLEMENTED. Errors are a `Problem`. */
export type VendorOperations = {
  readonly [Id in VendorOperationId]?: (asked: Asked<Id>) => Answer<Id> | Promise<Answer<Id>>;
};

/** An answer, whichever its operation. */
export type AnyAnswer = readonly [status: 200 | 201 | 202 | 204, document?: object];
