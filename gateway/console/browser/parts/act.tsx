import { useRef, useState } from 'preact/hooks';
import type { ActionResult } from '../../../../src/cli/actions/action.ts';
import { asProblem } from '../../../../src/api/problem.ts';
import { refresh } from '../live.ts';

/** An action that an operator can take. `run` with `isDry` only describes the effect. */
export type OfferedAction = {
  /** The action and its object, such as "Delete volume east.pvc-1". */
  readonly title: string;
  readonly run: (options: { readonly isDry: boolean; readonly force: boolean }) => Promise<ActionResult>;
  /** The name to type, for an action that may lose something. */
  readonly typed?: string;
  /** The meaning of `force`, for an action that has it. */
  readonly force?: string;
};

/** The state of the dialog: the plan of the dry run, the outcome, or a failure. */
type Shown = { readonly plan?: ActionResult; readonly outcome?: ActionResult; readonly fault?: string };

/** A button that shows the consequences of an action first, and takes it only then. */
export function ActButton({ action: { title, run, typed, force } }: { readonly action: OfferedAction }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const plans = useRef(0);
  const [shown, setShown] = useState<Shown>({});
  const [isForced, setIsForced] = useState(false);
  const [name, setName] = useState('');
  const [isRunning, setIsRunning] = useState(false);

  const plan = async (isForce: boolean): Promise<void> => {
    const own = ++plans.current;
    setIsForced(isForce);
    setShown({});
    const next = await attempt(async () => ({ plan: await run({ isDry: true, force: isForce }) }));
    // Another plan may have been asked for meanwhile.
    if (own === plans.current) setShown(next);
  };
  const open = (): void => {
    setName('');
    dialog.current?.showModal();
    void plan(false);
  };
  const act = async (event: Event): Promise<void> => {
    event.preventDefault();
    setIsRunning(true);
    setShown(await attempt(async () => ({ outcome: await run({ isDry: false, force: isForced }) })));
    setIsRunning(false);
  };
  const { plan: planned, outcome } = shown;
  // The page may then lose this button, and with it the outcome.
  const onClose = (): void => void (outcome && refresh());
  return (
    <>
      <button type="button" onClick={open}>
        {title.split(' ')[0]}…
      </button>
      <dialog ref={dialog} aria-label={title} onClose={onClose}>
        <form onSubmit={event => void act(event)}>
          <h2>{title}</h2>
          <Words shown={shown} />
          {force !== undefined && !outcome && (
            <Force label={force} isForced={isForced} onChange={isForce => void plan(isForce)} />
          )}
          {typed !== undefined && planned && <Typed typed={typed} name={name} onChange={setName} />}
          <p class="buttons">
            {planned && (
              <button type="submit" disabled={isRunning || (typed !== undefined && name !== typed)}>
                {title.split(' ')[0]}
              </button>
            )}
            <button type="button" onClick={() => dialog.current?.close()}>
              {outcome ? 'Close' : 'Cancel'}
            </button>
          </p>
        </form>
      </dialog>
    </>
  );
}

function Words({ shown: { plan, outcome, fault } }: { readonly shown: Shown }) {
  const said = outcome ?? plan;
  if (fault !== undefined)
    return (
      <p class="notice" role="alert">
        {fault}
      </p>
    );
  if (!said) return <p class="empty">Asking the gateway…</p>;
  return (
    <>
      <pre>{said.table}</pre>
      {said.warning !== undefined && <p class="notice">{said.warning}</p>}
    </>
  );
}

type ForceProps = {
  readonly label: string;
  readonly isForced: boolean;
  readonly onChange: (isForced: boolean) => void;
};

function Force({ label, isForced, onChange }: ForceProps) {
  return (
    <label>
      <input type="checkbox" checked={isForced} onChange={event => onChange(event.currentTarget.checked)} />{' '}
      {label}
    </label>
  );
}

type TypedProps = {
  readonly typed: string;
  readonly name: string;
  readonly onChange: (name: string) => void;
};

function Typed({ typed, name, onChange }: TypedProps) {
  return (
    <label>
      Type <code>{typed}</code> to go on:{' '}
      <input
        autocomplete="off"
        spellcheck={false}
        value={name}
        onInput={event => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

async function attempt(work: () => Promise<Shown>): Promise<Shown> {
  return work().catch((error: unknown) => ({
    fault: error instanceof Error && error.name !== 'Problem' ? error.message : asProblem(error).detail,
  }));
}
