import { signal } from '@preact/signals';

/** What became of something the operator did. */
export interface Notice {
  readonly id: number;
  readonly tone: 'good' | 'bad';
  readonly text: string;
}

let ids = 0;

/** What is shown above the page, the newest last. It stays until it is dismissed or the page is left. */
export const notices = signal<readonly Notice[]>([]);

/** Shows and announces a result. */
export function notify(tone: Notice['tone'], text: string): void {
  ids += 1;
  notices.value = [...notices.peek().slice(-2), { id: ids, tone, text }];
}

/** Takes a notice away. */
export function dismiss(id: number): void {
  notices.value = notices.peek().filter((notice) => notice.id !== id);
}
