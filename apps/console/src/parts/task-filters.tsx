import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { conditionsOf, NO_FILTER, searchOf, type TaskFilter } from '../state/task-filter.js';
import { duration, plural } from '../text/format.js';
import { stateLabel, TASK_STATES } from '../text/states.js';

const AGES_MS = [60_000, 600_000, 3_600_000, 21_600_000, 86_400_000, 604_800_000];

/** Narrows the list. It lives in the URL, so that a view can be sent to somebody. */
export function TaskFilters({ filter }: { readonly filter: TaskFilter }) {
  const [, navigate] = useLocation();
  const [draft, setDraft] = useState(filter);
  const set = (change: Partial<TaskFilter>): void => setDraft((old) => ({ ...old, ...change }));
  const number = conditionsOf(filter);
  const apply = (event: Event): void => {
    event.preventDefault();
    navigate(`/tasks${searchOf(draft)}`);
  };
  return (
    <details class="filters panel" open={number > 0 || matchMedia('(min-width: 75rem)').matches}>
      <summary>{number === 0 ? 'Filter' : `Filter: ${plural(number, 'condition')}`}</summary>
      <form onSubmit={apply}>
        <States chosen={draft.states} choose={(states) => set({ states })} />
        <div class="fields">
          <Field label="Owner" value={draft.owner} set={(owner) => set({ owner })} />
          <Field label="Tenant" value={draft.tenant} set={(tenant) => set({ tenant })} />
          <Field label="Holder" value={draft.holder} set={(holder) => set({ holder })} />
          <Field label="Context" value={draft.context} set={(context) => set({ context })} />
          <Age label="Older than" value={draft.olderThanMs} set={(olderThanMs) => set({ olderThanMs })} />
          <Age
            label="Younger than"
            value={draft.youngerThanMs}
            set={(youngerThanMs) => set({ youngerThanMs })}
          />
        </div>
        <div class="filter-buttons">
          <button type="submit" class="button button-main">
            Apply
          </button>
          <button
            type="button"
            class="button"
            disabled={number === 0 && conditionsOf(draft) === 0}
            onClick={() => {
              setDraft(NO_FILTER);
              navigate('/tasks');
            }}
          >
            Clear
          </button>
        </div>
      </form>
    </details>
  );
}

function States(props: {
  readonly chosen: readonly string[];
  readonly choose: (states: readonly string[]) => void;
}) {
  const { chosen, choose } = props;
  return (
    <fieldset class="states">
      <legend>State</legend>
      {TASK_STATES.map((state) => (
        <label key={state} class="chip">
          <input
            type="checkbox"
            name="state"
            value={state}
            checked={chosen.includes(state)}
            onChange={(event) =>
              choose(
                event.currentTarget.checked ? [...chosen, state] : chosen.filter((other) => other !== state),
              )
            }
          />
          {stateLabel(state)}
        </label>
      ))}
    </fieldset>
  );
}

function Field(props: {
  readonly label: string;
  readonly value: string;
  readonly set: (value: string) => void;
}) {
  return (
    <label class="field">
      {props.label}
      <input
        type="text"
        value={props.value}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => props.set(event.currentTarget.value)}
      />
    </label>
  );
}

function Age(props: {
  readonly label: string;
  readonly value: number | null;
  readonly set: (value: number | null) => void;
}) {
  const { label, value, set } = props;
  const choices = value === null || AGES_MS.includes(value) ? AGES_MS : [value, ...AGES_MS];
  return (
    <label class="field">
      {label}
      <select
        value={value === null ? '' : String(value)}
        onChange={(event) => set(Number(event.currentTarget.value) || null)}
      >
        <option value="">any age</option>
        {choices.map((ms) => (
          <option key={ms} value={String(ms)}>
            {duration(ms)}
          </option>
        ))}
      </select>
    </label>
  );
}
