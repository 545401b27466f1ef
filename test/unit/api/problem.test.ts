import assert from 'node:assert/strict';
import { test } from 'node:test';
import { status } from '@grpc/grpc-js';
import { asProblem, Problem, problemTable, toDocument, type ProblemCode } from '../../../src/api/problem.ts';

const codes = Object.keys(problemTable) as ProblemCode[];

test('every code has the number of the gRPC code that it is named after, and an HTTP status of an error', () => {
  for (const code of codes) {
    assert.equal(problemTable[code].grpc, status[code], code);
    assert.ok(problemTable[code].http >= 400 && problemTable[code].http < 600, code);
  }
});

test('exactly the codes that sidecars treat as still running are not final', () => {
  const temporary = codes.filter(code => !problemTable[code].final);
  assert.deepEqual(temporary, ['CANCELLED', 'DEADLINE_EXCEEDED', 'ABORTED', 'UNAVAILABLE']);
});

test('an unnamed failure is UNAVAILABLE without details, and a problem stays unchanged', () => {
  for (const unknown of [new TypeError('secret inside'), 'text', undefined, null, 5, {}]) {
    const problem = asProblem(unknown);
    assert.equal(problem.code, 'UNAVAILABLE');
    assert.equal(problem.detail, 'unexpected failure; the operation may still be running');
    assert.equal(problem.cause, unknown);
  }
  const problem = new Problem('NOT_FOUND', 'no volume "a.x"');
  assert.equal(asProblem(problem), problem);
});

test('a document has code, status and detail, and a request id only if there is one', () => {
  const problem = new Problem('FAILED_PRECONDITION', 'volume "a.x" is attached', new Error('cause'));
  const document = {
    type: 'urn:fairlead:problem:failed-precondition',
    title: 'the state of the resource forbids this',
    status: 409,
    code: 'FAILED_PRECONDITION',
    detail: 'volume "a.x" is attached',
  };
  assert.deepEqual(toDocument(problem), document);
  assert.deepEqual(toDocument(problem, 'r-1'), { ...document, requestId: 'r-1' });
});
