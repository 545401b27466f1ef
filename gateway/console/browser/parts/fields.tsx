import { Fragment } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';

/** An input of an action. */
export type Field = {
  readonly name: string;
  readonly label: string;
  /** The possible values, or the function that loads them; absent: any text. */
  readonly options?: readonly string[] | (() => Promise<readonly string[]>);
  readonly initial?: string | undefined;
  readonly isOptional?: boolean;
};

type FieldsProps = {
  readonly fields: readonly Field[];
  readonly values: Readonly<Record<string, string | undefined>>;
  readonly onChange: (name: string, value: string) => void;
};

/** The inputs of an action, one below the other. */
export function Fields({ fields, values, onChange }: FieldsProps) {
  const ids = useId();
  if (fields.length === 0) return null;
  return (
    <div class="fields">
      {fields.map(field => {
        const Input = field.options ? Choice : Text;
        const [id, value] = [`${ids}-${field.name}`, values[field.name] ?? ''];
        return (
          <Fragment key={id}>
            <label for={id}>{field.label}</label>
            <Input id={id} field={field} value={value} onChange={given => onChange(field.name, given)} />
          </Fragment>
        );
      })}
    </div>
  );
}

type InputProps = {
  readonly id: string;
  readonly field: Field;
  readonly value: string;
  readonly onChange: (value: string) => void;
};

function Text({ id, field: { isOptional = false }, value, onChange }: InputProps) {
  return (
    <input
      id={id}
      autocomplete="off"
      spellcheck={false}
      required={!isOptional}
      value={value}
      onInput={event => onChange(event.currentTarget.value)}
    />
  );
}

function Choice({ id, field: { options = [], isOptional = false }, value, onChange }: InputProps) {
  const [loaded, setLoaded] = useState<readonly string[]>([]);
  useEffect(() => {
    if (typeof options === 'function') options().then(setLoaded, () => setLoaded([]));
  }, []);
  const shown = typeof options === 'function' ? loaded : options;
  return (
    <select
      id={id}
      required={!isOptional}
      value={value}
      onChange={event => onChange(event.currentTarget.value)}
    >
      <option value="">{isOptional ? '' : 'Choose…'}</option>
      {shown.map(option => (
        <option key={option} value={option}>
          {option}
        </option>
      ))}
    </select>
  );
}
