import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'

/** Lets a server listen at 127.0.0.1, at a free port unless one is named. Returns the port. */
export async function listening(server: net.Server, port = 0): Promise<number> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

/** An HTTP server on loopback. */
export async function serve(answer: http.RequestListener) {
  const server = http.createServer(answer)
  const port = await listening(server)
  const close = async () => {
    server.closeAllConnections()
    server.close()
    if (server.listening) await once(server, 'close')
  }
  return { server, port, url: `http://127.0.0.1:${port}`, close }
}

/** A bare connection of a test. What becomes of it is seen by what comes of it. */
export function openSocket(
  t: { after(end: () => unknown): void },
  port: number,
  options: Partial<net.TcpNetConnectOpts> = {},
): net.Socket {
  const socket = net.connect({ port, host: '127.0.0.1', ...options })
  t.after(() => void socket.destroy())
  return socket.on('error', () => {})
}

/** Below the ports that the kernel gives to servers and connections, which other tests open all the time. */
const LEAST_PORT = 12_000
const MOST_PORT = 32_000
const givenPorts = new Set<number>()

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(LEAST_PORT, MOST_PORT)
    if (givenPorts.has(port)) continue
    givenPorts.add(port)
    const server = net.createServer()
    try {
      await listening(server, port)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') continue
      throw error
    }
    server.close()
    await once(server, 'close')
    return port
  }
}
