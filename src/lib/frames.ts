/** Where an error came from, without its message: what others wrote into that may be secret. */
export function framesOf(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return undefined;
  const { code } = cause as { code?: unknown };
  const frames = (cause.stack ?? '').split('\n').filter(line => /^\s+at /.test(line));
  return [`${cause.name}${typeof code === 'string' ? ` ${code}` : ''}`, ...frames].join('\n');
}
