type PagerProps = {
  readonly hasPrevious: boolean;
  /** Absent on the last page. */
  readonly onNext: (() => void) | undefined;
};

/** Leads to the pages beside the shown one. */
export function Pager({ hasPrevious, onNext }: PagerProps) {
  return (
    <p class="pages">
      <button type="button" disabled={!hasPrevious} onClick={() => history.back()}>
        Previous page
      </button>
      <button type="button" disabled={!onNext} onClick={onNext}>
        Next page
      </button>
    </p>
  );
}
