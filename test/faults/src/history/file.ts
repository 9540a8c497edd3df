import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { errorText } from '@a2a-cluster/core';
import { HISTORY_FORMAT, type History } from './history.js';

/** Writes a history as JSON; missing folders are made. */
export async function saveHistory(file: string, history: History): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(history)}\n`);
}

/** Reads what {@link saveHistory} wrote. @throws Error naming the file when it is not there, no JSON or no history of this format. */
export async function loadHistory(file: string): Promise<History> {
  const json = parse(file, await text(file));
  const format: unknown =
    typeof json === 'object' && json !== null && 'format' in json ? json.format : undefined;
  if (format === undefined) throw new Error(`${file} is not a history: it names no format`);
  if (format !== HISTORY_FORMAT)
    throw new Error(
      `${file} is a history of format ${String(format)}, this program reads format ${HISTORY_FORMAT}`,
    );
  return json as History;
}

async function text(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new Error(`${file} cannot be read: ${errorText(cause)}`, { cause });
  }
}

function parse(file: string, content: string): unknown {
  try {
    return JSON.parse(content) as unknown;
  } catch (cause) {
    throw new Error(`${file} is not JSON: ${errorText(cause)}`, { cause });
  }
}
