import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { freePort, tempFolder } from './processes.js';
import { findProgram } from './programs.js';
import { serverProcess } from './server-process.js';

/** What {@link startNginx} is told. */
export interface NginxOptions {
  /** Ports of replicas on this machine, asked in turn. */
  readonly ports: readonly number[];
  /** Ends an answer in which nothing was said for so long, in seconds; by default 60, as nginx does. */
  readonly idleS?: number;
}

/** A load balancer in front of replicas. */
export interface LoadBalancer {
  readonly port: number;
  readonly base: string;
  /** Ends it and what it holds. A second call does nothing. */
  remove(): Promise<void>;
}

/** Which package is missing for {@link startNginx}, or null: then there is `startIdleProxy`. */
export function missingNginx(): string | null {
  return findProgram('nginx') === null ? 'nginx (Debian package nginx-light)' : null;
}

/** Starts nginx: round robin, answers unbuffered, HTTP/1.1 to the replicas. */
export async function startNginx(options: NginxOptions): Promise<LoadBalancer> {
  const missing = missingNginx();
  if (missing !== null) throw new Error(`missing: ${missing}`);
  // Without an owner of its own: nginx writes as who it is started by.
  const folder = tempFolder('nginx');
  try {
    mkdirSync(path.join(folder.path, 'temp'));
    const port = await freePort();
    const base = `http://127.0.0.1:${port}`;
    const file = path.join(folder.path, 'nginx.conf');
    writeFileSync(file, configuration(options, port));
    const server = serverProcess(
      'nginx',
      {
        command: findProgram('nginx') as string,
        args: ['-p', folder.path, '-c', file, '-e', path.join(folder.path, 'errors')],
        // Its one process: see configuration.
        endsBy: 'SIGTERM',
        log: path.join(folder.path, 'log'),
      },
      async () => void (await (await fetch(`${base}/-/nginx`)).text()),
    );
    await server.start();
    return {
      port,
      base,
      async remove() {
        await server.stop('SIGTERM');
        folder.remove();
      },
    };
  } catch (error) {
    folder.remove();
    throw error;
  }
}

function configuration({ ports, idleS = 60 }: NginxOptions, port: number): string {
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (each) => `${each}_temp_path temp/${each};`,
  );
  return `daemon off;
# One process, so that ending it by its id ends all of it.
master_process off;
pid nginx.pid;
events { worker_connections 4096; }
http {
  access_log off;
  ${temp.join('\n  ')}
  upstream replicas {
    ${ports.map((each) => `server 127.0.0.1:${each} max_fails=1 fail_timeout=1s;`).join('\n    ')}
  }
  server {
    listen 127.0.0.1:${port};
    location = /-/nginx { return 204; }
    location / {
      proxy_pass http://replicas;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      proxy_buffering off;
      proxy_read_timeout ${idleS}s;
      proxy_connect_timeout 2s;
    }
  }
}
`;
}
