import { readdirSync } from 'node:fs';
import path from 'node:path';
import { workspaceRoot } from '@a2a-cluster/testing';
import { parseAllDocuments } from 'yaml';
import { deployFile } from './deploy-file.js';

/** A Kubernetes object as it is written down: parts of it are asked for by path. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name?: string;
    readonly generateName?: string;
    readonly [key: string]: unknown;
  };
  readonly [key: string]: unknown;
}

/** Files of `deploy/kubernetes`, by name. */
export const manifestFiles: readonly string[] = readdirSync(path.join(workspaceRoot, 'deploy/kubernetes'))
  .filter((name) => name.endsWith('.yaml'))
  .sort();

/** The objects of a file. @throws where it is no YAML, or says a key twice. */
export function manifestsIn(name: string): Manifest[] {
  return parseAllDocuments(deployFile(`kubernetes/${name}`)).map((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS() as Manifest;
  });
}

/** Every object of the folder. */
export const manifests: readonly Manifest[] = manifestFiles.flatMap(manifestsIn);

/** The one object of a kind. @throws where there is none, or another. */
export function manifestOf(kind: string): Manifest {
  const found = manifests.filter((one) => one.kind === kind);
  if (found.length !== 1) throw new Error(`${found.length} objects of kind ${kind}`);
  return found[0] as Manifest;
}
