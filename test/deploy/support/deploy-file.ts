import { readFileSync } from 'node:fs';
import path from 'node:path';
import { workspaceRoot } from '@a2a-cluster/testing';

/** A file of the folder `deploy`, as text. */
export function deployFile(name: string): string {
  return readFileSync(path.join(workspaceRoot, 'deploy', name), 'utf8');
}
