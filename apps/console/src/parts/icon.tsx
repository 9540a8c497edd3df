const PATHS = {
  check: 'M3 8.5l3.2 3.2L13 5',
  copy: 'M5.5 5.5h7v7h-7zM3.5 10.5v-7h7',
  alert: 'M8 2.2l6.3 11.3H1.7zM8 6.5v3.2M8 11.4v.6',
  stop: 'M5.2 2h5.6L14 5.2v5.6L10.8 14H5.2L2 10.8V5.2zM8 5v3.6M8 10.6v.6',
  close: 'M4 4l8 8M12 4l-8 8',
  dot: 'M8 5a3 3 0 1 0 0 6a3 3 0 1 0 0-6z',
  right: 'M6 3.5l4.5 4.5L6 12.5',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9zM10.4 10.4L14 14',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  wait: 'M8 2a6 6 0 1 0 0 12a6 6 0 1 0 0-12zM8 4.7V8l2.3 1.6',
} as const;

/** The name of a picture. */
export type IconName = keyof typeof PATHS;

/** A small picture beside words that say the same; hidden from screen readers. */
export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
