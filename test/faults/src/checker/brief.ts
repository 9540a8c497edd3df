import type { WireEvent } from '../history/history.js';

/** An event in a few words. */
export function brief(event: WireEvent): string {
  const { task, statusUpdate, artifactUpdate, message } = event;
  if (task) return `task ${task.status.state}`;
  if (statusUpdate)
    return `${statusUpdate.status.state} ${statusUpdate.status.message?.parts[0]?.text ?? ''}`.trim();
  if (artifactUpdate) return `artifact ${(artifactUpdate.artifact.parts[0]?.text ?? '').slice(0, 20)}`;
  return message ? 'message' : 'nothing';
}
