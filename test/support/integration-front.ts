import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import http from 'node:http'
import net from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'

import { listening } from './loopback.ts'

/** `away`: refuses requests; `hang`: never answers; `half`: stops in the middle of a page. */
export type Mood = 'well' | 'away' | 'hang' | 'half' | 500 | 401 | 400

export type Line = Awaited<ReturnType<typeof startLine>>

/** The way to the API, which can fail. */
export async function startLine(api: string) {
  const open = new Set<net.Socket>()
  let mood: Mood = 'well'
  const broken = http.createServer((_req, res) => {
    if (mood === 'hang') return
    if (mood === 'half') {
      res.writeHead(200, { 'Content-Length': '1000', 'X-Prepaint': 'hit', 'X-Prepaint-Status': '200' })
      res.write('<h1>half')
      setTimeout(() => res.destroy(), 50)
      return
    }
    res.writeHead(Number(mood), { 'Content-Type': 'application/json' }).end('{"error":"Internal error"}')
  })
  const server = net.createServer((near) => {
    line.asked++
    open.add(near)
    near.on('close', () => open.delete(near)).on('error', () => near.destroy())
    if (mood === 'away') return void near.destroy()
    if (mood !== 'well') return void broken.emit('connection', near)
    const far = net.connect(Number(new URL(api).port), '127.0.0.1')
    far.on('error', () => near.destroy())
    near.pipe(far).pipe(near)
  })
  const endAll = () => {
    for (const socket of open) socket.destroy()
  }
  const line = {
    url: '',
    port: 0,
    asked: 0,
    turn(next: Mood) {
      mood = next
      endAll()
    },
    close() {
      endAll()
      server.close()
    },
  }
  line.port = await listening(server)
  line.url = `http://127.0.0.1:${line.port}`
  return line
}

export async function startExample(
  file: string,
  env: Record<string, string>,
): Promise<{ port: number; child: ChildProcess }> {
  const example = path.join(import.meta.dirname, '../../examples/integrations', file)
  const child = spawn(process.execPath, [example], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  // Fails too when the process cannot be started. What it says later is read and dropped.
  const said = once(createInterface({ input: child.stdout }), 'line')
  const ended = once(child, 'exit').then(([code]) => Promise.reject(new Error(`${file} ended with ${code}`)))
  const [line] = (await Promise.race([said, ended])) as [string]
  return { port: (JSON.parse(line) as { port: number }).port, child }
}
