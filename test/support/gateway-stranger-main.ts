/**
 * Run by strangers.test.ts: another program of the machine. `node ... UID PORT [BASE64]...` becomes that user, sends each
 * text to the port of loopback on a connection of its own, and prints all responses as JSON.
 */
import { once } from 'node:events'
import net from 'node:net'
import { text } from 'node:stream/consumers'
import { ownUid } from '@prepaint/runtime/system-user.ts'

const [uid = '', port = '', ...requests] = process.argv.slice(2)
if (Number(uid) !== ownUid()) {
  process.setgroups?.([])
  process.setgid?.(Number(uid))
  process.setuid?.(Number(uid))
}
const responses: string[] = []
for (const request of requests) {
  const socket = net.connect(Number(port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(Buffer.from(request, 'base64'))
  // An endless response would be one that was let through.
  socket.setTimeout(5_000, () => socket.destroy())
  responses.push(await text(socket).catch((error: Error) => error.message))
}
process.stdout.write(JSON.stringify({ uid: ownUid(), responses }))
