type BarProps = { readonly total: number; readonly used: number; readonly label: string };

/** A bar of the used part of a whole. The label says the same in words. */
export function Bar({ total, used, label }: BarProps) {
  return (
    <div class={used >= total * 0.9 ? 'bar full' : 'bar'} role="img" aria-label={label} title={label}>
      <span class="used" style={{ width: `${Math.min(100, (100 * used) / total)}%` }} />
    </div>
  );
}
