import { spawn } from 'node:child_process'
import path from 'node:path'

const ROOT = path.join(import.meta.dirname, '..', '..')

/** A node on free ports for a local origin; `link` creates its first account. */
export async function startNodeFor(dataDir: string) {
  const child = spawn(process.execPath, ['bin/prepaint.ts', 'serve'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      PREPAINT_DATA_DIR: dataDir,
      PREPAINT_API_PORT: '0',
      PREPAINT_EDGE_PORT: '0',
      PREPAINT_EDGE_TLS_PORT: '0',
      PREPAINT_ALLOW_PRIVATE_ORIGINS: '127.0.0.0/8',
    },
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  const close = async () => {
    child.kill('SIGTERM')
    await exited
  }
  let text = ''
  const { promise, resolve, reject } = Promise.withResolvers<{ api: string; edge: string; link: string }>()
  const read = (part: Buffer) => {
    text += part.toString()
    const ready = /^\{.*"event":"ready".*\}$/m.exec(text)?.[0]
    const link = /https?:\S+\/welcome#\S+/.exec(text)?.[0]
    if (ready !== undefined && link !== undefined) {
      const { api, edge } = JSON.parse(ready) as { api: string; edge: string }
      resolve({ api, edge, link })
    }
  }
  child.stdout.on('data', read)
  child.stderr.on('data', read)
  void exited.then(() => reject(new Error(`the node has ended: ${text}`)))
  return { ...(await promise), close }
}
