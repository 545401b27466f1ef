import { useEffect, useState } from 'preact/hooks';

type FilterProps = {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
};

/** How long a filter waits for the next letter, in milliseconds. */
const typingMs = 100;

/** A filter that takes any text. */
export function TextFilter({ label, value, onChange }: FilterProps) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed.trim() === value) return undefined;
    const timer = setTimeout(() => onChange(typed.trim()), typingMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <label>
      {label} <input type="search" value={typed} onInput={event => setTyped(event.currentTarget.value)} />
    </label>
  );
}

type ChoiceFilterProps = FilterProps & { readonly load: () => Promise<readonly string[]> };

/** A filter that takes one of a few values. A value of a link that is none of them stays, and finds nothing. */
export function ChoiceFilter({ label, value, onChange, load }: ChoiceFilterProps) {
  const [loaded, setLoaded] = useState<readonly string[]>([]);
  useEffect(() => void load().then(setLoaded, () => setLoaded([])), []);
  const options = value === '' || loaded.includes(value) ? loaded : [...loaded, value];
  return (
    <label>
      {label}{' '}
      <select value={value} onChange={event => onChange(event.currentTarget.value)}>
        <option value="">any</option>
        {options.map(option => (
          <option key={option} value={option}>
            {option}
          </option>
        ))}
      </select>
    </label>
  );
}
