// Runs a handler as AWS Lambda's Node.js runtime does: one event after another from the runtime API, each answered by
// its id.
const api = `http://${process.env['AWS_LAMBDA_RUNTIME_API']}/2018-06-01/runtime`;
const { handler } = await import('../../../../gateway/entries/lambda.ts');
for (;;) {
  const next = await fetch(`${api}/invocation/next`);
  const id = next.headers.get('lambda-runtime-aws-request-id');
  const event = (await next.json()) as Parameters<typeof handler>[0];
  const [path, answer] = await handler(event).then(
    value => ['response', value] as const,
    (error: unknown) => ['error', { errorMessage: String(error) }] as const,
  );
  await fetch(`${api}/invocation/${id}/${path}`, { method: 'POST', body: JSON.stringify(answer) });
}
