/** What the list of tasks is narrowed to. Empty texts and null narrow nothing. */
export interface TaskFilter {
  readonly states: readonly string[];
  readonly tenant: string;
  readonly owner: string;
  readonly holder: string;
  readonly context: string;
  readonly olderThanMs: number | null;
  readonly youngerThanMs: number | null;
}

/** The whole list. */
export const NO_FILTER: TaskFilter = {
  states: [],
  tenant: '',
  owner: '',
  holder: '',
  context: '',
  olderThanMs: null,
  youngerThanMs: null,
};

const TEXTS = ['tenant', 'owner', 'holder', 'context'] as const;
const AGES = ['olderThanMs', 'youngerThanMs'] as const;

/** The filter in the query of a URL. What it does not understand narrows nothing. */
export function filterOf(search: string): TaskFilter {
  const query = new URLSearchParams(search);
  const text = (name: string): string => query.get(name) ?? '';
  const age = (name: string): number | null => {
    const value = Number(query.get(name) ?? '');
    return Number.isSafeInteger(value) && value > 0 ? value : null;
  };
  return {
    states: [...new Set(query.getAll('state').filter((state) => state !== ''))],
    tenant: text('tenant'),
    owner: text('owner'),
    holder: text('holder'),
    context: text('context'),
    olderThanMs: age('olderThanMs'),
    youngerThanMs: age('youngerThanMs'),
  };
}

/** The query of a URL for a filter and, from the second page on, a cursor: `?state=..`, or nothing. */
export function searchOf(filter: TaskFilter, cursor: string | null = null): string {
  const query = new URLSearchParams();
  for (const state of filter.states) query.append('state', state);
  for (const name of TEXTS) if (filter[name] !== '') query.set(name, filter[name]);
  for (const name of AGES) {
    const value = filter[name];
    if (value !== null) query.set(name, String(value));
  }
  if (cursor !== null) query.set('cursor', cursor);
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

/** The cursor in the query of a URL. */
export function cursorOf(search: string): string | null {
  return new URLSearchParams(search).get('cursor') || null;
}

/** How many conditions a filter has. */
export function conditionsOf(filter: TaskFilter): number {
  const texts = TEXTS.filter((name) => filter[name] !== '').length;
  const ages = AGES.filter((name) => filter[name] !== null).length;
  return texts + ages + (filter.states.length > 0 ? 1 : 0);
}
