/** One part of a bar. `kind` chooses its colour. */
export type Part = { readonly kind: 'used' | 'kept'; readonly value: number; readonly label: string };

type BarProps = { readonly total: number; readonly parts: readonly Part[]; readonly label: string };

/** A bar of parts of a whole. The label says the same in words. */
export function Bar({ total, parts, label }: BarProps) {
  const isNearlyFull = parts.reduce((sum, { value }) => sum + value, 0) >= total * 0.9;
  return (
    <div class={isNearlyFull ? 'bar full' : 'bar'} role="img" aria-label={label} title={label}>
      {parts.map(({ kind, value }) => (
        <span key={kind} class={kind} style={{ width: `${Math.min(100, (100 * value) / total)}%` }} />
      ))}
    </div>
  );
}
