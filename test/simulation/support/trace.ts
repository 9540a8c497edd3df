import type { Scheduler } from './scheduler.js';

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const BOOT = /\b(r\d+)-[0-9a-f]{8}\b/g;
const LONGEST_VALUE = 220;

/** What happened, line by line: the same for the same seed, random ids told by the order of their appearance. */
export class Trace {
  readonly lines: string[] = [];
  private readonly names = new Map<string, string>();

  constructor(private readonly scheduler: Scheduler) {}

  add(what: string): void {
    this.lines.push(`${String(this.scheduler.nowMs).padStart(6)} ${this.named(what)}`);
  }

  show(value: unknown): string {
    // Before the text is cut: half an id would not be known again.
    const text = this.named(JSON.stringify(value, errorsToo) ?? '');
    return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}..` : text;
  }

  private named(text: string): string {
    return text.replace(UUID, (id) => this.nameOf(id)).replace(BOOT, '$1');
  }

  private nameOf(id: string): string {
    const name = this.names.get(id) ?? `#${this.names.size + 1}`;
    this.names.set(id, name);
    return name;
  }
}

function errorsToo(_key: string, value: unknown): unknown {
  return value instanceof Error ? value.message : value;
}
