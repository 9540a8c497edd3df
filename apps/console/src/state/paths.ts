/** The path of a task's page, below the base of the console. */
export function taskPath(taskId: string): string {
  return `/tasks/${encodeURIComponent(taskId)}`;
}

/** The task that a path of the browser names; `''`: none. An escape that is broken is taken as it is written. */
export function taskIdOf(pathname: string): string {
  const raw = /\/tasks\/([^/]+)\/?$/.exec(pathname)?.[1] ?? '';
  try {
    return decodeURIComponent(raw);
  } catch {
    return raw;
  }
}

/** The path of the list for one replica. */
export function tasksHeldBy(replicaId: string): string {
  return `/tasks?holder=${encodeURIComponent(replicaId)}`;
}
