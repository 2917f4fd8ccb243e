import { createHash } from 'node:crypto'
import type http from 'node:http'
import type { Duplex } from 'node:stream'

/** What a server says on a WebSocket: once at its opening (`heard` is null), and to each text it gets. */
export type Speak = (heard: string | null, say: (text: string) => void) => void

/** Accepts an upgrade (RFC 6455) and speaks short texts, of at most 125 bytes each way. */
export function speakWebSocket(request: http.IncomingMessage, socket: Duplex, speak: Speak): void {
  const accept = createHash('sha1')
    .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
    .digest('base64')
  socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n')
  socket.write(`Sec-WebSocket-Accept: ${accept}\r\n\r\n`)
  const say = (text: string) => {
    if (socket.writable) socket.write(Buffer.from([0x81, Buffer.byteLength(text), ...Buffer.from(text)]))
  }
  socket.on('error', () => {})
  // A server's sockets stay open on our side when the other end has gone.
  socket.on('end', () => socket.end())
  socket.on('data', (frame: Buffer) => {
    if (frame[0] !== 0x81) return
    const length = (frame[1] ?? 0) & 0x7f
    const mask = frame.subarray(2, 6)
    const text = frame.subarray(6, 6 + length).map((byte, at) => byte ^ (mask[at % 4] ?? 0))
    speak(Buffer.from(text).toString(), say)
  })
  speak(null, say)
}
