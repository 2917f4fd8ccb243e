/**
 * `node bench/floods.ts [--only name] [--seconds 10] [--rest 60] [--checkout]`
 * Floods by one address, against the packaged program (or the checkout as it is) and against Debian's nginx with `proxy_cache`, by turns. Meanwhile a person
 * and a crawler of another customer ask every 100 ms, from addresses of their own. Prints how they fared, and memory,
 * descriptors and connections to the origin before, and `--rest` seconds after. All run on the cores that there are.
 * Exits with status 1 if a probe fails, or a stored page of the other customer is `pass; database`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { createSelfSigned } from '@prepaint/runtime/self-signed.ts'
import { ATTACKS, type AttackName } from '../test/floods/attacks.ts'
import { PATHS, startFloodNode } from '../test/floods/flood-node.ts'
import { type Flooded, FloodOrigin, flood, type Server } from '../test/floods/flood-world.ts'
import { until } from '../test/support/condition.ts'
import { edgeRequest, GOOGLEBOT } from '../test/support/edge-request.ts'
import { freePort } from '../test/support/loopback.ts'
import { machineLine, percentile } from './figures.ts'
import { markdownTable } from './markdown.ts'
import { packedProgram } from './program/packed.ts'

const { values: given } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    seconds: { type: 'string', default: '10' },
    rest: { type: 'string', default: '60' },
    checkout: { type: 'boolean', default: false },
  },
})
const times = { seconds: Number(given.seconds), restSeconds: Number(given.rest), failAfterMs: 5_000 }
const MIB = 1024 * 1024

const origin = await FloodOrigin.start()
const nginx = await startNginx(origin.url)
const node = await startFloodNode(origin.url, given.checkout ? undefined : packedProgram())
const rows: string[][] = []
try {
  const names = (Object.keys(ATTACKS) as AttackName[]).filter((name) => name.includes(given.only))
  for (const attack of [null, ...names]) {
    for (const server of [node, nginx]) {
      const found = await flood(server, origin, attack, times)
      rows.push(row(server, attack, found))
      console.error(rows.at(-1)?.join(' | '), found.failed.slice(0, 3).join('; '))
      if (server === node && (found.failed.length > 0 || (found.verdicts['pass; database'] ?? 0) > 0)) {
        process.exitCode = 1
      }
    }
  }
  console.log(`${machineLine()}, floods of ${times.seconds} s\n`)
  const columns = ['flood', 'server', 'sent', 'failed', 'people p50 ms', 'p99', 'hits p50', 'p99']
  columns.push('pass; database', 'miss p50', 'MiB before', 'most', `${times.restSeconds} s later`)
  columns.push('descriptors', 'connections to the origin')
  console.log(markdownTable(columns, rows, 2))
} finally {
  await node.close()
  await nginx.close()
  origin.close()
}

function row(server: Server, attack: AttackName | null, found: Flooded): string[] {
  const { people, hits, misses, failed, verdicts, memory, descriptors, originConnections, sent } = found
  const ms = (values: number[], share: number) =>
    values.length === 0 ? '-' : percentile(values, share).toFixed(0)
  const cells = [
    attack ?? 'none',
    server.name,
    `${sent}`,
    `${failed.length} of ${people.length + hits.length}`,
  ]
  cells.push(ms(people, 0.5), ms(people, 0.99), ms(hits, 0.5), ms(hits, 0.99))
  cells.push(`${verdicts['pass; database'] ?? 0}`, ms(misses, 0.5))
  cells.push(...[memory.before, memory.most, memory.after].map((bytes) => (bytes / MIB).toFixed(0)))
  cells.push(`${descriptors.before} to ${descriptors.after}`)
  cells.push(`${originConnections.before} to ${originConnections.after}`)
  return cells
}

/** nginx of one process: crawlers get pages from its cache, people the origin. */
async function startNginx(originUrl: string): Promise<Server & { close(): Promise<void> }> {
  const dir = mkdtempSync(path.join(tmpdir(), 'prepaint-bench-'))
  mkdirSync(path.join(dir, 'pages'))
  const [port, tlsPort] = [await freePort(), await freePort()]
  const { privateKey, certificate } = createSelfSigned('flooded.example')
  writeFileSync(path.join(dir, 'key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(path.join(dir, 'certificate.pem'), certificate)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${dir}/${kind};`)
    .join(' ')
  writeFileSync(
    path.join(dir, 'nginx.conf'),
    `daemon off; master_process off; pid ${dir}/pid; error_log stderr crit; user root;
     worker_rlimit_nofile 65536; events { worker_connections 16384; }
     http {
       access_log off; sendfile on; tcp_nopush on; ${temporary}
       map $http_user_agent $is_person { default 1; ~Googlebot 0; }
       upstream origin { server ${new URL(originUrl).host}; keepalive 64; }
       proxy_cache_path ${dir}/pages levels=1:2 keys_zone=pages:10m;
       ssl_certificate ${dir}/certificate.pem; ssl_certificate_key ${dir}/key.pem;
       server {
         listen 127.0.0.1:${port}; listen 127.0.0.1:${tlsPort} ssl http2;
         location / {
           proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";
           proxy_request_buffering off;
           proxy_cache pages; proxy_cache_valid 1h; proxy_cache_key $host$request_uri;
           proxy_cache_bypass $is_person; proxy_no_cache $is_person;
         }
       }
     }`,
  )
  const nginx = spawn('nginx', ['-p', dir, '-c', path.join(dir, 'nginx.conf'), '-e', 'stderr'], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const close = async () => {
    nginx.kill()
    if (nginx.exitCode === null) await once(nginx, 'exit')
    rmSync(dir, { recursive: true })
  }
  const watched = 'watched.example'
  const ask = (page: string) =>
    edgeRequest(`http://127.0.0.1:${port}`, { host: watched, path: page, userAgent: GOOGLEBOT })
  await until('nginx serves', () => ask('/').then(() => true))
  for (const page of PATHS) await ask(page)
  return {
    ...{ name: 'nginx', pid: nginx.pid!, port, tlsPort, flooded: 'flooded.example', watched },
    ...{ storedPaths: PATHS, hasMisses: false, close },
  }
}
