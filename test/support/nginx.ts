import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { until } from './condition.ts'
import { hasProgram } from './program.ts'

export const hasNginx = hasProgram('nginx', 'nginx-light')

const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

/** nginx with this in its `http` block, once it listens at `port`. */
export async function startNginx(port: number, http: string): Promise<{ close(): Promise<void> }> {
  const dir = mkdtempSync(path.join(tmpdir(), 'prepaint-nginx-'))
  chmodSync(dir, 0o755)
  const [configuration, log] = [path.join(dir, 'nginx.conf'), path.join(dir, 'error.log')]
  writeFileSync(
    configuration,
    `daemon off; master_process off; pid ${dir}/pid; worker_processes 1;
     events { worker_connections 256; }
     http { access_log off; ${TEMPORARY.map((name) => `${name}_temp_path ${dir}/${name};`).join(' ')}
     ${http} }`,
  )
  const nginx = spawn('nginx', ['-c', configuration, '-p', dir, '-e', log], { stdio: 'ignore' })
  const ended = once(nginx, 'exit')
  const close = async () => {
    nginx.kill()
    await ended
    rmSync(dir, { recursive: true })
  }
  try {
    await until('nginx listens', async () => {
      const socket = net.connect(port, '127.0.0.1')
      await once(socket, 'connect')
      return socket.destroy()
    })
    return { close }
  } catch (cause) {
    const said = readFileSync(log, 'utf8')
    await close()
    throw new Error(said, { cause })
  }
}
