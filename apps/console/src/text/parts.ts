import { bytes } from './format.js';

/** A part of a message or an artifact, made readable. Nothing of it is ever markup. */
export type ReadablePart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'data'; readonly text: string }
  | { readonly kind: 'file'; readonly name: string; readonly type: string; readonly size: string };

/** A message of either side. */
export interface ReadableMessage {
  readonly role: 'user' | 'agent' | 'unknown';
  readonly messageId: string;
  readonly parts: readonly ReadablePart[];
}

/** An artifact. */
export interface ReadableArtifact {
  readonly artifactId: string;
  readonly name: string;
  readonly description: string;
  readonly parts: readonly ReadablePart[];
}

/** An object of JSON, or an empty one where there is something else. */
export function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

/** A list of JSON, or an empty one. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A text of JSON, or an empty one. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** JSON a person can read. */
export function prettyJson(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? '';
}

/** The parts, with texts that follow each other joined: an artifact that was streamed is one text again. */
export function readableParts(parts: unknown): readonly ReadablePart[] {
  const found: ReadablePart[] = [];
  for (const part of listOf(parts).map(objectOf)) {
    const last = found.at(-1);
    const next = readablePart(part);
    if (last?.kind === 'text' && next.kind === 'text')
      found[found.length - 1] = { kind: 'text', text: last.text + next.text };
    else found.push(next);
  }
  return found;
}

function readablePart(part: Readonly<Record<string, unknown>>): ReadablePart {
  if (typeof part['text'] === 'string') return { kind: 'text', text: part['text'] };
  const raw = part['raw'];
  const url = part['url'];
  if (typeof raw === 'string' || typeof url === 'string') {
    const size = typeof raw === 'string' ? bytes(bytesOfBase64(raw)) : `at ${withoutQuery(textOf(url))}`;
    const name = textOf(part['filename']) || 'without a name';
    return { kind: 'file', name, type: textOf(part['mediaType']) || 'unknown type', size };
  }
  return { kind: 'data', text: prettyJson('data' in part ? part['data'] : part) };
}

/** Addresses carry secrets in their queries. */
function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, '');
}

function bytesOfBase64(raw: string): number {
  const padding = raw.endsWith('==') ? 2 : raw.endsWith('=') ? 1 : 0;
  return Math.max(0, Math.floor((raw.length * 3) / 4) - padding);
}

/** A message of JSON; null where there is none. */
export function readableMessage(value: unknown): ReadableMessage | null {
  const message = objectOf(value);
  const parts = readableParts(message['parts']);
  if (parts.length === 0) return null;
  const role = textOf(message['role']);
  return {
    role: role === 'ROLE_USER' ? 'user' : role === 'ROLE_AGENT' ? 'agent' : 'unknown',
    messageId: textOf(message['messageId']),
    parts,
  };
}

/** An artifact of JSON. */
export function readableArtifact(value: unknown): ReadableArtifact {
  const artifact = objectOf(value);
  return {
    artifactId: textOf(artifact['artifactId']),
    name: textOf(artifact['name']),
    description: textOf(artifact['description']),
    parts: readableParts(artifact['parts']),
  };
}
