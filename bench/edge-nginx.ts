/** Three nginx processes: a static origin, `proxy_cache` and `proxy_pass`. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import net, { type AddressInfo } from 'node:net'
import path from 'node:path'

import { createSelfSigned } from '@prepaint/runtime/self-signed.ts'

export const SMALL_BYTES = 500

export type NginxPorts = { origin: number; cache: number; cacheTls: number; pass: number; passTls: number }

export async function writeNginx(
  dir: string,
): Promise<{ files: Record<'origin' | 'cache' | 'pass', string>; ports: NginxPorts }> {
  const [origin, cache, cacheTls, pass, passTls] = await freePorts(5)
  const ports = { origin: origin!, cache: cache!, cacheTls: cacheTls!, pass: pass!, passTls: passTls! }
  mkdirSync(path.join(dir, 'www'))
  mkdirSync(path.join(dir, 'pages'))
  for (const size of [8, 60]) writeFileSync(path.join(dir, 'www', `${size}`), pageOf(size * 1024))
  writeFileSync(path.join(dir, 'www', 'small'), Buffer.alloc(SMALL_BYTES, 'x'))
  const { privateKey, certificate } = createSelfSigned('shop.example')
  writeFileSync(path.join(dir, 'key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }))
  writeFileSync(path.join(dir, 'certificate.pem'), certificate)

  const write = (name: string, http: string): string => {
    const file = path.join(dir, `${name}.conf`)
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((kind) => `${kind}_temp_path ${dir}/${name}-${kind};`)
      .join(' ')
    writeFileSync(
      file,
      `daemon off; master_process off; pid ${dir}/${name}.pid; error_log stderr crit;
       events { worker_connections 4096; }
       http { access_log off; keepalive_requests 100000000; sendfile on; tcp_nopush on; ${temporary} ${http} }`,
    )
    return file
  }
  const from = `upstream origin { server 127.0.0.1:${ports.origin}; keepalive 64; keepalive_requests 100000000; }`
  const tls = `ssl_certificate ${dir}/certificate.pem; ssl_certificate_key ${dir}/key.pem;`
  const to = 'proxy_pass http://origin; proxy_http_version 1.1; proxy_set_header Connection "";'
  return {
    ports,
    files: {
      origin: write(
        'origin',
        `open_file_cache max=10; default_type "text/html; charset=utf-8";
         server { listen 127.0.0.1:${ports.origin}; root ${dir}/www;
           location /p { try_files /small =404; } }`,
      ),
      cache: write(
        'cache',
        `${from} proxy_cache_path ${dir}/pages levels=1:2 keys_zone=pages:10m;
         ${tls}
         server {
           listen 127.0.0.1:${ports.cache}; listen 127.0.0.1:${ports.cacheTls} ssl http2;
           location / { ${to} proxy_cache pages; proxy_cache_valid 1h; proxy_cache_key $host$request_uri; }
         }`,
      ),
      pass: write(
        'pass',
        `${from} ${tls} server {
           listen 127.0.0.1:${ports.pass}; listen 127.0.0.1:${ports.passTls} ssl http2; location / { ${to} }
         }`,
      ),
    },
  }
}

/** An HTML page without scripts, of words that compress as those of a text do. The same at each call. */
function pageOf(bytes: number): string {
  const words: string[] = []
  let seed = 1
  for (let length = 0; length < bytes; length += words.at(-1)!.length) {
    seed = (seed * 48_271) % 2_147_483_647
    const word = (seed % 5_000).toString(36).replaceAll(/\d/g, 'e')
    words.push(words.length % 12 === 0 ? `</p><p>${word} ` : `${word} `)
  }
  const head = '<!doctype html><html><head><title>A page</title></head><body><p>'
  const tail = '</p></body></html>'
  return `${`${head}${words.join('')}`.slice(0, bytes - tail.length)}${tail}`
}

/** Waits until nginx serves. Throws if it ended. */
export async function waitForAnswer(nginx: ChildProcess, port: number): Promise<void> {
  for (;;) {
    if (nginx.exitCode !== null) throw new Error('nginx did not start')
    const isAnswered = await fetch(`http://127.0.0.1:${port}/8`).then(
      (response) => response.status < 600,
      () => false,
    )
    if (isAnswered) return
  }
}

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => net.createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map((server) => server.listening || once(server, 'listening')))
  const ports = servers.map((server) => (server.address() as AddressInfo).port)
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))))
  return ports
}
