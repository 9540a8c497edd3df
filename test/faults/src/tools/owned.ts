import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, openSync, closeSync, readFileSync, rmSync } from 'node:fs';
import { once } from 'node:events';

/** Something that must not outlive the harness. */
export interface Owned {
  /** Ends it now, without waiting: called from a signal handler, so it may not throw and may not await. */
  endNow(): void;
}

const owned = new Set<Owned>();

/** Notes something that has to end with the harness; what is answered takes it off the list again. */
export function own(thing: Owned): () => void {
  owned.add(thing);
  return () => void owned.delete(thing);
}

/**
 * Ends everything that is still owned: servers by their pid, then folders. Synchronous, never throws and may be
 * called again, so a signal handler and an `exit` handler may both call it.
 */
export function endAll(): void {
  // The newest first: a pooler before its server, a server before its folder.
  for (const thing of [...owned].reverse()) {
    owned.delete(thing);
    try {
      thing.endNow();
    } catch {
      // The others still have to end.
    }
  }
}

/** Removes a folder with the harness; what is answered removes it now. A second call does nothing. */
export function ownFolder(folder: string): () => void {
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  const disown = own({ endNow: remove });
  return () => {
    disown();
    remove();
  };
}

/** What {@link spawnOwned} is told. */
export interface SpawnOwned {
  readonly command: string;
  readonly args: readonly string[];
  /** Added to PATH; nothing else of the harness's environment is handed on. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whom it runs as where the harness is root; ignored otherwise. */
  readonly user?: string;
  /** The signal that ends it at once, its own children included. */
  readonly endsBy: NodeJS.Signals;
  /** Where its output is added. */
  readonly log: string;
}

/** A process that dies with the harness. */
export interface OwnedProcess {
  readonly pid: number;
  /** The exit code, or the name of the signal that ended it. Never rejects. */
  readonly exited: Promise<number | string>;
  /** The end of what it has written, for errors. */
  output(): string;
  /** Sends a signal; does nothing when it has ended. */
  signal(signal: NodeJS.Signals): void;
  /** Sends a signal and waits for the end; SIGKILL follows after `withinMs` (10 s by default). */
  end(signal: NodeJS.Signals, withinMs?: number): Promise<void>;
}

const OUTPUT_BYTES = 4_000;

/**
 * Starts a process that ends with the harness: by {@link endAll}, and where `setpriv` exists by the kernel too, so
 * that even a harness ended by SIGKILL leaves nothing behind.
 * @throws when the program cannot be started.
 */
export async function spawnOwned(options: SpawnOwned): Promise<OwnedProcess> {
  const { command, args, log, endsBy } = options;
  const file = openSync(log, 'a');
  const line = diesWithParent(options, [command, ...args]);
  const child = spawn(line[0] as string, line.slice(1), {
    // Variables that are preloaded concern the program, not the wrapper: see diesWithParent.
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', ...(line[0] === command ? options.env : {}) },
    stdio: ['ignore', file, file],
    ...identityOf(options.user),
  });
  closeSync(file);
  await once(child, 'spawn');
  return ownChild(child, { endsBy, log });
}

function ownChild(child: ChildProcess, how: { endsBy: NodeJS.Signals; log: string }): OwnedProcess {
  const pid = child.pid as number;
  const disown = own({ endNow: () => void child.kill(how.endsBy) });
  const exited = new Promise<number | string>((resolve) => {
    child.once('exit', (code, signal) => {
      disown();
      removeSemaphores(pid);
      resolve(signal ?? code ?? 0);
    });
  });
  return {
    pid,
    exited,
    output: () => (existsSync(how.log) ? readFileSync(how.log, 'utf8').slice(-OUTPUT_BYTES) : ''),
    signal: (signal) => void child.kill(signal),
    async end(signal, withinMs = 10_000) {
      child.kill(signal);
      const late = setTimeout(() => child.kill('SIGKILL'), withinMs);
      await exited;
      clearTimeout(late);
    },
  };
}

/** The command line behind `setpriv --pdeathsig`, where that exists. */
function diesWithParent(options: SpawnOwned, line: readonly string[]): readonly string[] {
  const setpriv = ['/usr/bin/setpriv', '/bin/setpriv'].find(existsSync);
  if (setpriv === undefined) return line;
  // By `env`: libfaketime in setpriv itself would make its semaphore before the program does.
  const env = Object.entries(options.env ?? {}).map(([name, value]) => `${name}=${value}`);
  return [setpriv, '--pdeathsig', options.endsBy.replace(/^SIG/, ''), 'env', ...env, ...line];
}

/** The numbers of a user of this machine, or null when there is none of that name. */
export function identityOfUser(user: string): { readonly uid: number; readonly gid: number } | null {
  const passwd = existsSync('/etc/passwd') ? readFileSync('/etc/passwd', 'utf8') : '';
  const fields = passwd
    .split('\n')
    .map((line) => line.split(':'))
    .find(([name]) => name === user);
  return fields ? { uid: Number(fields[2]), gid: Number(fields[3]) } : null;
}

/** Whom to run as: root starts no database server as itself. */
export function identityOf(user: string | undefined): { readonly uid?: number; readonly gid?: number } {
  if (user === undefined || process.getuid?.() !== 0) return {};
  const identity = identityOfUser(user);
  if (identity === null) throw new Error(`there is no user ${user} to run the server as`);
  return identity;
}

/** libfaketime leaves a semaphore and a page in shared memory when its process is killed. */
function removeSemaphores(pid: number): void {
  for (const name of [`faketime_shm_${pid}`, `sem.faketime_sem_${pid}`])
    rmSync(`/dev/shm/${name}`, { force: true });
}
