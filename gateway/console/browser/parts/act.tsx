import { useEffect, useRef, useState } from 'preact/hooks';
import type { ActionResult } from '../../../../src/cli/actions/action.ts';
import { asProblem } from '../../../../src/api/problem.ts';
import { refresh } from '../live.ts';
import { Fields, type Field } from './fields.tsx';

/** The values of an action's fields by their names. A field that was left empty has none. */
export type Values = Readonly<Record<string, string | undefined>>;

/** An action that an operator can take. `run` with `isDry` only describes the effect. */
export type OfferedAction = {
  /** The action and its object, such as "Delete volume east.pvc-1". */
  readonly title: string;
  readonly run: (options: {
    readonly isDry: boolean;
    readonly force: boolean;
    readonly values: Values;
  }) => Promise<ActionResult>;
  readonly fields?: readonly Field[];
  /** The name to type, for an action that may lose something. */
  readonly typed?: string;
  /** The meaning of `force`, for an action that has it. */
  readonly force?: string;
};

/** The state of the dialog: the plan of the dry run, the outcome, or a failure. */
type Shown = {
  readonly plan?: ActionResult;
  readonly outcome?: ActionResult;
  readonly fault?: string;
  readonly isAsking?: boolean;
};

/** Holds the state of an action's dialog. A plan is about the values that it was made with. */
function useAction({ run, fields = [] }: OfferedAction) {
  const plans = useRef(0);
  const [shown, setShown] = useState<Shown>({});
  const [isForced, setIsForced] = useState(false);
  const [values, setValues] = useState<Values>({});

  const plan = async (given: Values, force: boolean): Promise<void> => {
    const own = ++plans.current;
    setIsForced(force);
    setShown({ isAsking: true });
    const next = await attempt(async () => ({ plan: await run({ isDry: true, force, values: given }) }));
    // Another plan may have been asked for meanwhile.
    if (own === plans.current) setShown(next);
  };
  const edit = (next: Values): void => {
    plans.current++;
    setShown({});
    setValues(next);
  };
  const act = async (): Promise<void> => {
    setShown({ ...shown, isAsking: true });
    const options = { isDry: false, force: isForced, values };
    setShown(await attempt(async () => ({ outcome: await run(options) })));
  };
  return {
    shown,
    isForced,
    values,
    begin(): void {
      const initial = Object.fromEntries(fields.map(field => [field.name, field.initial]));
      edit(initial);
      setIsForced(false);
      if (fields.length === 0) void plan(initial, false);
    },
    change: (field: string, value: string): void => edit({ ...values, [field]: value || undefined }),
    force: (force: boolean): void => void plan(values, force),
    submit: (): Promise<void> => (shown.plan ? act() : plan(values, isForced)),
  };
}

/** A button that shows the consequences of an action first, and takes it only then. */
export function ActButton({ action }: { readonly action: OfferedAction }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setIsOpen] = useState(false);
  const { begin, ...state } = useAction(action);
  // The dialog gives the focus to its first field, which has to be there.
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
  }, [isOpen]);
  const open = (): void => {
    begin();
    setIsOpen(true);
  };
  const onClose = (): void => {
    setIsOpen(false);
    // The page may then lose this button, and with it the outcome.
    if (state.shown.outcome) refresh();
  };
  return (
    <>
      <button type="button" onClick={open}>
        {wordOf(action)}…
      </button>
      <dialog ref={dialog} aria-label={action.title} onClose={onClose}>
        {isOpen && <Form action={action} state={state} onClose={() => dialog.current?.close()} />}
      </dialog>
    </>
  );
}

type FormProps = {
  readonly action: OfferedAction;
  readonly state: Omit<ReturnType<typeof useAction>, 'begin'>;
  readonly onClose: () => void;
};

function Form({ action, state, onClose }: FormProps) {
  const { title, fields = [], typed, force } = action;
  const { shown, values, isForced } = state;
  const { plan, outcome, isAsking = false } = shown;
  const [name, setName] = useState('');
  const submit = (event: Event): void => {
    event.preventDefault();
    void state.submit();
  };
  return (
    <form onSubmit={submit}>
      <h2>{title}</h2>
      {!outcome && <Fields fields={fields} values={values} onChange={state.change} />}
      <Words shown={shown} />
      {force !== undefined && !outcome && <Force label={force} isForced={isForced} onChange={state.force} />}
      {typed !== undefined && plan && <Typed typed={typed} name={name} onChange={setName} />}
      <p class="buttons">
        {plan && (
          <button type="submit" disabled={isAsking || (typed !== undefined && name !== typed)}>
            {wordOf(action)}
          </button>
        )}
        {!plan && !outcome && fields.length > 0 && (
          <button type="submit" disabled={isAsking}>
            Show the consequences
          </button>
        )}
        <button type="button" onClick={onClose}>
          {outcome ? 'Close' : 'Cancel'}
        </button>
      </p>
    </form>
  );
}

/** Returns the word of the action's buttons, such as "Delete". */
function wordOf({ title }: OfferedAction): string {
  return title.split(' ', 1)[0] ?? title;
}

function Words({ shown: { plan, outcome, fault, isAsking } }: { readonly shown: Shown }) {
  const said = outcome ?? plan;
  if (fault !== undefined)
    return (
      <p class="notice" role="alert">
        {fault}
      </p>
    );
  if (!said) return isAsking ? <p class="empty">Asking the gateway…</p> : null;
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
